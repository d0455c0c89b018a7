-- What `tacit demo` watches, live, at all sites together. Chosen by hand to show the kinds; no measurement.

-- A threshold: are the rooms too warm, on average over all sites? The heat comes and goes.
CREATE WATCH heat AS
  SELECT AVG(temp) AS mean FROM readings
  WINDOW LAST 10 SECONDS EVERY 1 SECOND
  ALERT WHEN mean > 27 MARGIN 1;

-- A tracked value: the mean load, always known to within 4.
CREATE WATCH load AS
  SELECT AVG(load) AS mean FROM readings
  WINDOW LAST 20 SECONDS EVERY 1 SECOND
  TRACK mean WITHIN 4;

-- A ratio of two sums, which stays below its threshold: nothing to say.
CREATE WATCH failing AS
  SELECT COUNT_IF(failed) / COUNT(*) AS share FROM readings
  WINDOW LAST 20 SECONDS EVERY 1 SECOND
  ALERT WHEN share > 0.15 MARGIN 0.04;

-- Groups: which devices fail often?
CREATE WATCH devices AS
  SELECT device, COUNT_IF(failed) AS failures FROM readings
  WINDOW LAST 20 SECONDS EVERY 1 SECOND
  GROUP BY device
  ALERT WHEN failures > 150 MARGIN 30;

-- A ranking: the three devices that fail most often, and how often. Who enters and who leaves is an alert.
CREATE WATCH worst AS
  SELECT device, COUNT_IF(failed) AS failures FROM readings
  WINDOW LAST 20 SECONDS EVERY 1 SECOND
  GROUP BY device
  ORDER BY failures DESC LIMIT 3 WITHIN 10 RANKED WITHIN 40;

-- On sketches: which devices fail often, without anybody keeping a count of each of them?
CREATE WATCH often AS
  SELECT device, COUNT(*) AS failures FROM readings WHERE failed
  WINDOW LAST 20 SECONDS EVERY 1 SECOND
  GROUP BY device HAVING COUNT(*) > 150 MARGIN 30
  SKETCH EPSILON 0.01 DELTA 0.01;

-- And how unevenly readings fall on devices: the sum of the squared counts, to within 10 percent.
CREATE WATCH evenness AS
  SELECT SELF_JOIN_SIZE(device) AS squares FROM readings
  WINDOW LAST 20 SECONDS EVERY 1 SECOND
  TRACK squares WITHIN 10 PERCENT SKETCH EPSILON 0.05 DELTA 0.05;

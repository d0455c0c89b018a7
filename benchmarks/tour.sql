-- What `tacit bench tour` watches. The table names the generated data: air, requests, readings or news.
-- Windows, thresholds and margins were chosen by hand, most of them so that silence pays: the demo shows what kinds of
-- watches there are, and its ratios are no measurement. `together` is one that costs more than shipping its panes.

-- A ratio of two averages over all stations, right to within its margin.
CREATE WATCH pollution AS
  SELECT AVG(so2) / AVG(no2) AS ratio FROM air
  WINDOW LAST 7 DAYS EVERY 1 HOUR
  ALERT WHEN ratio > 0.4 MARGIN 0.02;

-- A standard deviation, always known to within 10.
CREATE WATCH spread AS
  SELECT STDDEV(pm25) AS s FROM air
  WINDOW LAST 30 DAYS EVERY 1 HOUR
  TRACK s WITHIN 10;

-- Two conditions; either is enough.
CREATE WATCH alarm AS
  SELECT AVG(pm25) AS dust, AVG(temp) AS warmth FROM air
  WINDOW LAST 7 DAYS EVERY 1 HOUR
  ALERT WHEN dust > 110 MARGIN 5 OR warmth > 27 MARGIN 1;

-- A correlation: is the dust blown away by the wind?
CREATE WATCH blown AS
  SELECT CORR(pm25, wspm) AS r FROM air
  WINDOW LAST 30 DAYS EVERY 1 HOUR
  ALERT WHEN r < -0.3 MARGIN 0.05;

-- A correlation near its threshold over short windows: nothing to be silent about, and the report says so.
CREATE WATCH together AS
  SELECT CORR(x, y) AS r FROM readings
  WINDOW LAST 500 ROWS
  ALERT WHEN r > 0.5 MARGIN 0.1;

-- How far the mean of all sensors is from the origin; rows, not time, make the window.
CREATE WATCH far AS
  SELECT SQRT(POWER(AVG(x), 2) + POWER(AVG(y), 2)) AS distance FROM readings
  WINDOW LAST 500 ROWS
  ALERT WHEN distance > 1.2 MARGIN 0.1;

-- One watch per group of clients: how large are the answers they get?
CREATE WATCH heavy AS
  SELECT client % 16 AS region, AVG(bytes) AS size FROM requests
  WHERE status = 200
  WINDOW LAST 2 HOURS EVERY 1 MINUTE
  GROUP BY client % 16
  ALERT WHEN size > 4500 MARGIN 400;

-- One watch per word: does it tell stories about earnings from others? Three words, as different as they can be.
CREATE WATCH words AS
  SELECT term, INFORMATION_GAIN(array_contains(topics, 'earn'), PRESENT) AS gain FROM news
  WINDOW LAST 400 ROWS EVERY 1 ROW
  GROUP BY EACH(array_intersect(terms, array(0, 1, 2))) AS term
  ALERT WHEN gain > 0.08 MARGIN 0.02;

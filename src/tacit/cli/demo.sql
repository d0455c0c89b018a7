-- What `tacit demo` watches. The table names the generated data: air, requests, readings or news.

-- A ratio of two averages over all stations, known to within its margin.
CREATE WATCH pollution AS
  SELECT AVG(so2) / AVG(no2) AS ratio FROM air
  WINDOW LAST 7 DAYS EVERY 1 HOUR
  ALERT WHEN ratio > 0.4 MARGIN 0.02;

-- A standard deviation, always known to within 8.
CREATE WATCH spread AS
  SELECT STDDEV(pm25) AS s FROM air
  WINDOW LAST 500 ROWS
  TRACK s WITHIN 8;

-- Two conditions; either is enough.
CREATE WATCH alarm AS
  SELECT AVG(pm25) AS dust, AVG(temp) AS warmth FROM air
  WINDOW LAST 3 DAYS EVERY 1 HOUR
  ALERT WHEN dust > 100 MARGIN 5 OR warmth > 26 MARGIN 1;

-- A correlation between two columns, over sensors whose means wander.
CREATE WATCH together AS
  SELECT CORR(x, y) AS r FROM readings
  WINDOW LAST 500 ROWS
  ALERT WHEN r > 0.5 MARGIN 0.1;

-- One watch per page: how large are its answers?
CREATE WATCH heavy AS
  SELECT url, AVG(bytes) AS size FROM requests
  WHERE status = 200
  WINDOW LAST 2 HOURS EVERY 1 MINUTE
  GROUP BY url
  ALERT WHEN size > 8000 MARGIN 1000;

-- One watch per word: does it tell stories about earnings from others?
CREATE WATCH words AS
  SELECT term, INFORMATION_GAIN(array_contains(topics, 'earn'), PRESENT) AS gain FROM news
  WINDOW LAST 300 ROWS
  GROUP BY EACH(terms) AS term
  ALERT WHEN gain > 0.05 MARGIN 0.01;

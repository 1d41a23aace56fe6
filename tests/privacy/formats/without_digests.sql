-- What dpcore wrote before charges had digests.
CREATE TABLE cap (epsilon REAL, delta REAL NOT NULL, rho REAL, neighbours TEXT NOT NULL);
INSERT INTO "cap" VALUES(10.0,1.0e-06,NULL,'replace-one');
CREATE TABLE charges (id INTEGER PRIMARY KEY, time TEXT NOT NULL, what TEXT NOT NULL, epsilon REAL, delta REAL NOT NULL, rho REAL, simulated INTEGER NOT NULL);
INSERT INTO "charges" VALUES(1,'2026-11-23T20:40:41.074347+00:00','one',0.25,0.0,NULL,0);
INSERT INTO "charges" VALUES(2,'2026-11-23T20:40:41.093815+00:00','two',0.1,1.0e-09,NULL,0);
INSERT INTO "charges" VALUES(3,'2026-11-23T20:40:41.113866+00:00','one',0.25,0.0,NULL,1);
PRAGMA application_id = 1685087087;
PRAGMA user_version = 1;

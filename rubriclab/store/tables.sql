-- The tables of version 1. Later labs add tables or columns only, and give older files what they
-- lack (ADDED in database.py). Files of earlier labs may have more columns than these, so every
-- INSERT names its columns.
CREATE TABLE lab (version INTEGER, created TIMESTAMP);

CREATE TABLE datasets (
    dataset VARCHAR PRIMARY KEY, name VARCHAR, origin VARCHAR, created TIMESTAMP
);
CREATE TABLE items (
    dataset VARCHAR, item INTEGER,
    item_id VARCHAR, criterion VARCHAR, block VARCHAR, prompt VARCHAR, candidate VARCHAR,
    task VARCHAR, texts JSON
);

CREATE TABLE runs (
    run INTEGER PRIMARY KEY, id VARCHAR UNIQUE, name VARCHAR, identity VARCHAR, dataset VARCHAR,
    study JSON, made_with JSON, state VARCHAR, reason VARCHAR, planned BIGINT, revision BIGINT,
    created TIMESTAMP, changed TIMESTAMP
);
CREATE TABLE conditions (run INTEGER, condition SMALLINT, body JSON, planned BIGINT);
CREATE TABLE run_items (
    run INTEGER, item INTEGER, source INTEGER,
    item_id VARCHAR, dataset VARCHAR, criterion VARCHAR, block VARCHAR, prompt VARCHAR,
    candidate VARCHAR, task VARCHAR, ratings JSON, unit_text VARCHAR
);
CREATE TABLE orderings (run INTEGER, ordering INTEGER, shown JSON, labels JSON);

CREATE TABLE calls (
    run INTEGER, call INTEGER, key VARCHAR, condition SMALLINT, status TINYINT, attempt SMALLINT,
    final BOOLEAN, text VARCHAR, finish VARCHAR, error VARCHAR, kind VARCHAR,
    tokens_in INTEGER, tokens_out INTEGER, cached INTEGER, seconds REAL, model VARCHAR,
    asked TIMESTAMP, sent VARCHAR, note VARCHAR, prompt VARCHAR
);
CREATE TABLE judgments (
    run INTEGER, call INTEGER, condition SMALLINT, item INTEGER, ordering INTEGER, slot SMALLINT,
    repeat SMALLINT, status TINYINT, score DOUBLE, position SMALLINT, expected REAL, mass REAL,
    p REAL[]
);

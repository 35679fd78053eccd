"""Writes what SqlGym answers to queries of a small database: tests/environments/sql/sqlgym.json.

    python -m venv scratch && scratch/bin/pip install sqlgym
    scratch/bin/python tools/interop/python/make_sqlgym_goldens.py > tests/environments/sql/sqlgym.json
"""

import json
import sqlite3
import sys
import tempfile
from pathlib import Path

from sqlgym import SqlGymEnv
from sqlgym.datasets import BirdDataset

SCRIPT = """CREATE TABLE Customer (CustomerID INTEGER PRIMARY KEY, "Full Name" TEXT, Balance REAL, Photo BLOB);
CREATE TABLE Purchase (PurchaseID INTEGER PRIMARY KEY, CustomerID INTEGER, Amount REAL, Note TEXT);
INSERT INTO Customer VALUES (1,'Ann O''Hara',12.5,x'00ff41'),(2,'Bo "B" Li',3.0,NULL),(3,'Zoë\\n',1e20,NULL);
INSERT INTO Customer VALUES (9007199254740993,NULL,-0.0,NULL);
INSERT INTO Purchase VALUES (1,1,10,'first'),(2,1,2.5,NULL),(3,2,7,'it''s');"""
TABLES = [
    {
        "db_id": "shop",
        "table_names": ["Customer", "Purchase"],
        "column_names": [
            *[[-1, "*"], [0, "Customer ID"], [0, "Full Name"], [0, "Balance"], [0, "Photo"]],
            *[[1, "Purchase ID"], [1, "Customer ID"], [1, "Amount"], [1, "Note"]],
        ],
        "primary_keys": [1, 5],
        "foreign_keys": [[6, 1], [8, 1]],
    }
]
GOLD = "SELECT Amount FROM Purchase WHERE CustomerID = 1"
QUERIES = [
    "SELECT * FROM Customer",
    "SELECT CustomerID FROM Customer ORDER BY 1 DESC LIMIT 1",
    "SELECT CustomerID, Amount, CustomerID FROM Purchase ORDER BY Amount DESC",
    "SELECT 2, 1, 1.0",
    "SELECT COUNT(*) FROM Purchase WHERE Note IS NULL",
    "SELECT missing FROM Customer",
    "SELECT * FROM Missing",
    "SELEC 1",
    "",
    "-- only words",
    "SELECT 1; SELECT 2",
    "SELECT 1;",
    "DELETE FROM Customer",
    "SELECT 10/4, 10/4.0, 1e16, 1e15, 0.1+0.2, 1e-7",
    "SELECT Amount FROM Purchase WHERE CustomerID = 1 UNION ALL SELECT 10",
    "SELECT DISTINCT Amount * 1.0 FROM Purchase WHERE CustomerID = 1",
    "SELECT '10.0' UNION SELECT '2.5'",
    "SELECT name FROM pragma_table_info('Customer')",
]

with tempfile.TemporaryDirectory() as folder:
    base = Path(folder)
    place = base / "dev" / "dev_databases" / "shop"
    place.mkdir(parents=True)
    connection = sqlite3.connect(place / "shop.sqlite")
    connection.executescript(SCRIPT)
    connection.close()
    question = {"db_id": "shop", "question": "What did Ann pay?", "evidence": "", "SQL": GOLD, "difficulty": "simple"}
    (base / "dev" / "dev_tables.json").write_text(json.dumps(TABLES))
    (base / "dev" / "dev.json").write_text(json.dumps([question]))
    world = SqlGymEnv(BirdDataset(folder, "dev"))
    answers = []
    observation = world.reset(0)
    for query in QUERIES:
        world.reset(0)
        result, reward, *_ = world.step(query)
        text = str(result)
        # As AgentGym's server cuts it.
        answers.append([query, text[:100] + "..." if len(text) > 100 else text, reward])
found = {"script": SCRIPT, "tables": TABLES, "question": question, "observation": observation, "answers": answers}
json.dump(found, sys.stdout, indent=1, ensure_ascii=False)
print()

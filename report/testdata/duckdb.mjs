// Answers the queries of a JSON array on standard input: an array of arrays of
// rows, in which all values are strings or null.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[2] + '/');
const { DuckDBInstance } = require('@duckdb/node-api');

const instance = await DuckDBInstance.create(':memory:');
const db = await instance.connect();
const answers = [];
for (const query of JSON.parse(readFileSync(0, 'utf8'))) {
  const result = await db.runAndReadAll(query);
  answers.push(result.getRows().map(row => row.map(v => v === null ? null : String(v))));
}
process.stdout.write(JSON.stringify(answers));

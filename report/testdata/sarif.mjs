// Holds a SARIF log on standard input against the schema; says what is wrong.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const require = createRequire(process.argv[2] + '/');
const Ajv = require('ajv-draft-04');
const addFormats = require('ajv-formats');
const schema = JSON.parse(readFileSync(process.argv[2] + '/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json', 'utf8'));

const ajv = new Ajv({ allErrors: true, strict: false, unicodeRegExp: false });
addFormats(ajv);
const validate = ajv.compile(schema);
if (!validate(JSON.parse(readFileSync(0, 'utf8')))) {
  for (const e of validate.errors) console.log(`${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

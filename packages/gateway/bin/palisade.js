#!/usr/bin/env node
'use strict';
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const words = process.argv.slice(2);
const directory = join(__dirname, '../dist');

/** Loads the program; one that was not built says so. */
function load() {
  try {
    return require('../dist/start.cjs');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND' || !error.message.includes('dist/start.cjs')) throw error;
    process.stderr.write(
      'Cannot start palisade: dist/start.cjs does not exist. Run `npm run build` in the project.\n',
    );
    return process.exit(70);
  }
}

if (words[0] === '--version' || words[0] === '-V') {
  const manifest = readFileSync(join(__dirname, '../package.json'), 'utf8');
  process.stdout.write(`${JSON.parse(manifest).version}\n`);
} else load().start({ directory, words });

#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const [word, ...rest] = process.argv.slice(2);

/** Loads a part of the build; one that was not built says so. */
async function load(name) {
  return import(`../dist/${name}`).catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes(`dist/${name}`)) throw error;
    process.stderr.write(
      `Cannot start palisade: dist/${name} does not exist. Run \`npm run build\` in the project.\n`,
    );
    process.exit(70);
  });
}

if (word === '--version' || word === '-V') {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  process.stdout.write(`${JSON.parse(manifest).version}\n`);
} else {
  // The client of an MCP server waits for its first answer, which needs little of the program.
  const asksForHelp = rest.some((each) => each === '--help' || each === '-h');
  const isClient = word === 'mcp' && !asksForHelp && process.stdin.isTTY !== true;
  const answered = isClient ? await (await load('early.js')).answerFirst() : null;
  const { start } = await load('main.js');
  await start(answered);
}

#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const [word] = process.argv.slice(2);
if (word === '--version' || word === '-V') {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  process.stdout.write(`${JSON.parse(manifest).version}\n`);
} else {
  await import('../dist/main.js').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || !error.message.includes('dist/main.js')) throw error;
    process.stderr.write(
      'Cannot start palisade: dist/main.js does not exist. Run `npm run build` in the project.\n',
    );
    process.exitCode = 70;
  });
}

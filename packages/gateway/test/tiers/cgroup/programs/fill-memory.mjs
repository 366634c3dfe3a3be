/** Starts so many processes that each fill so many MiB and hold them until all have, and prints how many could. */
import { spawn } from 'node:child_process';

const [count, mib] = process.argv.slice(2).map(Number);
const fill = `
  const bytes = Buffer.alloc(${mib} << 20, 1);
  process.stdout.write('x');
  process.stdin.resume().on('end', () => process.exit(bytes[5] - 1));`;

const children = Array.from({ length: count }, () =>
  spawn(process.execPath, ['-e', fill], { stdio: ['pipe', 'pipe', 'ignore'] }),
);
const ended = children.map((child) => new Promise((resolve) => child.on('exit', resolve)));
const filled = children.map((child) => new Promise((resolve) => child.stdout.once('data', resolve)));
await Promise.all(children.map((_, index) => Promise.race([filled[index], ended[index]])));
for (const child of children) child.stdin.on('error', () => undefined).end();
const codes = await Promise.all(ended);
console.log(`${codes.filter((code) => code === 0).length} filled`);

/** Runs a program and captures its output. */
import { spawn } from 'node:child_process';

/** Runs to the end; resolves with status and output, never rejects. With `live`, output is shown as it comes. */
export function run(program, words, { cwd, env, live = false }) {
  return new Promise((done) => {
    let output = '';
    const child = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (stream) => (chunk) => {
      output += chunk;
      if (live) stream.write(chunk);
    };
    child.stdout.on('data', keep(process.stdout));
    child.stderr.on('data', keep(process.stderr));
    child.once('error', (error) => done({ ok: false, output: `${output}${error.message}\n` }));
    child.once('close', (status) => done({ ok: status === 0, output }));
  });
}

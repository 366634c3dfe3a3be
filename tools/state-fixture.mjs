/**
 * Makes the state directory that a version of palisade leaves, for the tests of upgrades. Each release gets one:
 *
 *   node tools/state-fixture.mjs PALISADE.JS tests/fixtures/states/NAME.tar.xz
 *
 * PALISADE.JS is `packages/gateway/bin/palisade.js` of a built clone of that version. What is in the directory: a sealed
 * segment, calls with receipts, an open approval request, a token, a secret, and a skill with storage that is approved.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Each writes two records; two segments of records are needed before the first is sealed. */
const CALLS = 270;
/** Without a daemon each call is a process of its own. */
const FEW_CALLS = 12;
const CONFIG = '[journal]\nsegment_records = 256\n';

const [program, out] = process.argv.slice(2).map((path) => resolve(path));
const scratch = mkdtempSync(join(tmpdir(), 'palisade-state-'));
const state = join(scratch, 'state');

/** Runs a command of that version; gives its standard output. */
function palisade(words, { input = '', statuses = [0] } = {}) {
  const all = [program, ...words, '--state', state];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, { input, encoding: 'utf8' });
  if (statuses.includes(status)) return stdout;
  throw new Error(`Cannot make the fixture: palisade ${words.join(' ')} exited with ${status}\n${stderr}`);
}

function skill() {
  const folder = join(scratch, 'notes');
  const key = join(scratch, 'acme.key');
  palisade(['skill', 'new', folder, '--language', 'c', '--id', 'acme.notes']);
  palisade(['skill', 'build', folder]);
  palisade(['skill', 'pack', folder, '--out', join(scratch, 'notes.skill')]);
  palisade(['skill', 'sign', join(scratch, 'notes.skill'), '--key', key, '--new-key']);
  palisade(['trust', 'add', 'acme', `${key}.pub.json`, '--yes']);
  palisade(['skill', 'install', join(scratch, 'notes.skill')]);
  palisade(['skill', 'approve', 'acme.notes', '--yes', '--reason', 'for the fixture']);
  return JSON.parse(palisade(['tools', 'list', '--json'])).tools.find(({ id }) => id.startsWith('acme.')).id;
}

/** The commands of that version. */
const help = spawnSync(process.execPath, [program, '--help'], { encoding: 'utf8' }).stdout;
const has = (verb) => help.split('\n').some((line) => line.trim().startsWith(`${verb} `));

/** The calls go through a daemon, which is faster and leaves its own traces. */
async function fillJournal() {
  const call = (i) => palisade(['call', 'palisade.echo', '--input', `{"message":"call ${i}"}`]);
  if (!has('serve')) {
    for (let i = 0; i < FEW_CALLS; i++) call(i);
    return;
  }
  const words = [program, 'serve', '--listen', '127.0.0.1:0', '--json', '--state', state];
  const daemon = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(daemon.stdout, 'data');
  for (let i = 0; i < CALLS; i++) call(i);
  daemon.kill('SIGTERM');
  await once(daemon, 'exit');
}

try {
  palisade(['call', 'palisade.echo', '--input', '{"message":"first"}']);
  writeFileSync(join(state, 'palisade.toml'), CONFIG, { mode: 0o600 });
  const facts = {
    version: spawnSync(process.execPath, [program, '--version'], { encoding: 'utf8' }).stdout.trim(),
  };
  await fillJournal();
  facts.tool = has('skill install') ? skill() : null;
  const token = ['token', 'create', '--principal', 'agent:ada', '--scopes', 'call', '--expires', '366d'];
  if (has('token create')) palisade(token);
  if (has('secrets set NAME')) palisade(['secrets', 'set', 'weather'], { input: 'sunshine' });
  facts.tokens = has('token create') ? 1 : 0;
  facts.secrets = has('secrets set NAME') ? 1 : 0;
  const last = JSON.parse(palisade(['call', 'palisade.echo', '--input', '{"message":"kept"}', '--json']));
  facts.call = last.callId;
  facts.receipt = palisade(['receipt', last.callId]);
  facts.records = JSON.parse(palisade(['journal', 'verify', '--json']));
  writeFileSync(join(scratch, 'facts.json'), `${JSON.stringify(facts, null, 2)}\n`);
  mkdirSync(join(out, '..'), { recursive: true });
  const tar = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '-C',
    scratch,
    '-cJf',
    out,
    'state',
    'facts.json',
  ];
  const { status, stderr } = spawnSync('tar', tar, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Cannot pack the fixture: ${stderr}`);
  console.log(`state-fixture: ${out} (${JSON.stringify(facts.records)})`);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

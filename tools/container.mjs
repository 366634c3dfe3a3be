/**
 * Builds the image of deploy/container and starts it, with podman and nothing but packages of Debian and the npm registry:
 * `npm run container [-- --release DIR] [--write]`. It takes root, a private folder below /var/tmp and about five minutes,
 * and leaves nothing behind. With --write it derives deploy/container/seccomp.json again.
 */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot as root } from './check.mjs';
import { run } from './command.mjs';
import { dockersProfile, makeBase, must } from './container/base.mjs';
import { enterNamespace, makeEngine } from './container/engine.mjs';
import { profileText } from './container/seccomp.mjs';
import { ALLOWED, expect, forbidden, STARTED, writeSample } from './container/trials.mjs';
import { CONTAINER, ensurePrograms } from './programs.mjs';
import { packAll, writeSums } from './release/pack.mjs';
import { buildPackages, makeStage } from './release/stage.mjs';

const NODE = 'localhost/palisade-node:local';
const IMAGE = 'localhost/palisade:local';
const PROFILE = join(root, 'deploy/container/seccomp.json');
/** Podman's name for Docker's `systempaths=unconfined`. */
const UNMASKED = ['--security-opt', 'unmask=ALL'];

const say = (line) => console.log(`container: ${line}`);
let [passed, failed] = [0, 0];

async function main() {
  const options = { release: { type: 'string' }, write: { type: 'boolean', default: false } };
  const { values } = parseArgs({ options });
  if (process.getuid?.() !== 0)
    throw new Error('Cannot try the image: podman makes it as root here. Run it with sudo.');
  await ensurePrograms(say, CONTAINER);
  if (!(await enterNamespace(import.meta.filename, process.argv.slice(2)))) return;
  const work = mkdtempSync('/var/tmp/palisade-container-');
  const engine = makeEngine(work);
  const cleanUp = async () => {
    await engine.podman('rm', '--all', '--force', '--volumes').catch(() => undefined);
    await run('umount', [join(work, 'store/overlay')], { cwd: '/' });
    rmSync(work, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => void cleanUp().finally(() => process.exit(1)));
  try {
    const base = await dockersProfile(join(work, 'docker'));
    writeFileSync(join(work, 'docker.json'), JSON.stringify(base));
    await compareProfile(base, values.write);
    await makeImage(work, engine, values.release);
    await writeSample(root, join(work, 'sample'));
    await tryAll(work, engine);
  } finally {
    await cleanUp();
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

async function compareProfile(base, isWritten) {
  if (isWritten) writeFileSync(PROFILE, profileText(base));
  await trial('the filter of system calls is that of Docker and our rows', () => {
    if (readFileSync(PROFILE, 'utf8') !== profileText(base))
      throw new Error('deploy/container/seccomp.json differs. Run `npm run container -- --write`.');
  });
}

async function makeImage(work, engine, release) {
  const context = join(work, 'context');
  mkdirSync(join(context, 'deploy'), { recursive: true });
  cpSync(join(root, 'deploy/container'), join(context, 'deploy/container'), { recursive: true });
  say('making the release');
  if (release !== undefined) cpSync(resolve(release), join(context, 'dist/release'), { recursive: true });
  else await pack(join(context, 'dist/release'));
  say('making a root file system from packages of Debian');
  await makeBase(join(work, 'node'));
  await engine.build(NODE, join(work, 'node'));
  say('building the image');
  const registry = (await must('npm', ['config', 'get', 'registry'])).trim().split('\n').at(-1);
  const args = { NODE_IMAGE: NODE, NPM_REGISTRY: registry };
  const words = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
  await engine.build(IMAGE, context, ...words, '--file', join(context, 'deploy/container/Dockerfile'));
}

async function pack(folder) {
  mkdirSync(folder, { recursive: true });
  const stage = makeStage(root);
  try {
    const { version } = JSON.parse(readFileSync(join(root, 'packages/gateway/package.json'), 'utf8'));
    const options = { version, say: () => undefined, builds: ['gateway'] };
    const { folders } = await buildPackages(root, stage, options);
    await packAll(folders, folder);
    writeSums(folder);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

/** Which filter, which /proc, and what has to be so. */
function cases(work) {
  const filter = (path) => ['--security-opt', `seccomp=${path}`];
  const docker = join(work, 'docker.json');
  return [
    ['our filter, /proc not masked', [...filter(PROFILE), ...UNMASKED], [...ALLOWED, DRAIN]],
    ['no filter, /proc not masked', [...filter('unconfined'), ...UNMASKED], ALLOWED],
    ["Docker's filter", [...filter(docker), ...UNMASKED], forbidden(/seccomp=seccomp\.json/)],
    ["podman's filter", UNMASKED, forbidden(/seccomp=seccomp\.json/)],
    ['our filter, /proc masked', filter(PROFILE), forbidden(/systempaths=unconfined/)],
  ];
}

async function tryAll(work, engine) {
  for (const [at, [what, words, trials]] of cases(work).entries()) {
    say(`with ${what}`);
    const container = await startContainer(engine, `palisade-${at}`, work, words);
    for (const [name, act] of trials) await trial(name, () => act(container));
    await engine.podman('rm', '--force', '--volumes', container.name);
  }
}

async function startContainer(engine, name, work, words) {
  const volumes = ['--volume', `${name}-state:/var/lib/palisade`, '--volume', `${name}-work:/work`];
  const all = [...STARTED, ...words, ...volumes, '--volume', `${join(work, 'sample')}:/sample:ro`];
  await engine.start(name, IMAGE, all);
  const inside = (...command) =>
    statusOf(engine.podman('exec', name, 'sh', '-c', WITH_STATUS, 'sh', ...command));
  const healthy = () =>
    statusOf(engine.podman('healthcheck', 'run', name).then((output) => `${output}\nstatus 0`));
  const container = { name, engine, inside, healthy };
  for (let tries = 0; (await healthy()).status !== 0 && tries < 60; tries++) await pause(500);
  return container;
}

/** Podman fails as the command does; the status is in the last line instead. */
const WITH_STATUS = '"$@" 2>&1; echo "status $?"';

async function statusOf(running) {
  const text = await running.catch((error) => `${error.message}\nstatus 125`);
  const [, output = '', status = '125'] = /^([\s\S]*?)\n?status (\d+)\s*$/.exec(text) ?? [];
  return { status: Number(status), output };
}

/** A container that is stopped lets the running call end, and its journal is whole. */
const DRAIN = [
  'SIGTERM lets the running call end, and the container ends with 0',
  async ({ name, engine, inside }) => {
    const call = inside('palisade', 'call', 'palisade.sleep', '--input', '{"ms":4000}');
    await pause(1500);
    await engine.podman('stop', '--time', '20', name);
    await call;
    const ended = await engine.podman('inspect', name, '--format', '{{.State.ExitCode}}');
    expect({ status: 0, output: ended }, /^0$/m);
    expect({ status: 0, output: await engine.podman('logs', name) }, /"draining","calls":1[\s\S]*"stopped"/);
    await engine.podman('start', name);
    await pause(3000);
    expect(await inside('palisade', 'journal', 'search', '--json'), /palisade\.sleep/);
    expect(await inside('palisade', 'journal', 'verify'), /verified/);
  },
];

async function trial(name, act) {
  try {
    await act();
    passed++;
    console.log(`  ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`  FAIL  ${name}\n        ${error.message.trim().replace(/\n/g, '\n        ')}`);
  }
}

function pause(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) {
  try {
    await main();
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}

/**
 * The root file systems that images are built from without a registry of images: Debian, made from its packages, with
 * the Node and npm of this machine in the place of the official image of Node.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { run } from '../command.mjs';
import { BASE } from './seccomp.mjs';

const SUITE = 'bookworm';
/** What the binary of Node is linked with, besides the C library. */
const LIBRARIES = ['libstdc++6', 'libatomic1', 'ca-certificates'];
const NODE_FILE = [
  'FROM scratch',
  'ADD debian.tar /',
  'COPY node /usr/bin/node',
  'COPY npm /usr/lib/node_modules/npm',
  'RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/bin/npm && node --version && npm --version',
];
/** Where a machine has an authority of its own, the build needs it to reach the registry of packages. */
const AUTHORITY = [
  'COPY authorities.pem /usr/share/authorities.pem',
  'ENV NODE_EXTRA_CA_CERTS=/usr/share/authorities.pem',
];

/** Writes the context of a build that stands for the official image of Node; throws with what a program said. */
export async function makeBase(folder, authorities = process.env.NODE_EXTRA_CA_CERTS) {
  mkdirSync(folder, { recursive: true });
  const tar = join(folder, 'debian.tar');
  await must('mmdebstrap', ['--quiet', '--variant=minbase', `--include=${LIBRARIES.join(',')}`, SUITE, tar]);
  copyFileSync(realpathSync(process.execPath), join(folder, 'node'));
  cpSync(npmFolder(), join(folder, 'npm'), { recursive: true });
  if (authorities !== undefined) copyFileSync(authorities, join(folder, 'authorities.pem'));
  const lines = [...NODE_FILE, ...(authorities === undefined ? [] : AUTHORITY)];
  writeFileSync(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`);
}

/** Docker's own filter of system calls, as a value. */
export async function dockersProfile(folder) {
  mkdirSync(folder, { recursive: true });
  await must('apt-get', ['download', `${BASE.package}=${BASE.version}`], { cwd: folder });
  await must('sh', ['-c', 'dpkg-deb --extract *.deb sources'], { cwd: folder });
  return JSON.parse(readFileSync(join(folder, 'sources', BASE.path), 'utf8'));
}

function npmFolder() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const link = folders.map((each) => join(each, 'npm')).find((path) => existsSync(path));
  if (link === undefined)
    throw new Error('Cannot make the base image: npm is not on the PATH. Install Node with npm.');
  return dirname(dirname(realpathSync(link)));
}

/** Runs a program to its end; gives what it printed. */
export async function must(program, words, options = { cwd: '/' }) {
  const { ok, output } = await run(program, words, options);
  if (ok) return output;
  throw new Error(`Cannot go on: ${[program, ...words].join(' ')} failed\n${output}`);
}

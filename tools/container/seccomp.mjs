/**
 * Derives deploy/container/seccomp.json: Docker's own profile and the rows below, nothing else. The profile of Docker is
 * read from Debian's package of its sources, so anyone can repeat it: `npm run container` compares, `--write` writes.
 */

/** Where Docker's profile comes from, and what it was when ours was derived. */
export const BASE = {
  package: 'golang-github-docker-docker-dev',
  version: '20.10.24+dfsg1-1+deb12u1',
  path: 'usr/share/gocode/src/github.com/docker/docker/profiles/seccomp/default.json',
};

/** What Docker permits only with CAP_SYS_ADMIN in the container; the sandboxes need it in namespaces of their own. */
export const ADDED = [
  { names: ['clone', 'unshare'], why: 'new user namespaces, and in them the others of a sandbox' },
  { names: ['mount', 'umount2', 'pivot_root'], why: 'bubblewrap builds the root of the jail' },
  { names: ['sethostname'], why: 'bubblewrap names the machine of the jail' },
];

/** Marks our groups in the file. */
export const MARK = 'palisade: ';

/** The profile that the image needs, as the text of a file. */
export function profileText(base) {
  const ours = ADDED.map(({ names, why }) => ({
    names,
    action: 'SCMP_ACT_ALLOW',
    args: [],
    comment: `${MARK}${why}`,
    includes: {},
    excludes: {},
  }));
  return `${JSON.stringify({ ...base, syscalls: [...base.syscalls, ...ours] }, null, '\t')}\n`;
}

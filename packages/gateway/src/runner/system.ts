import { readFileSync } from 'node:fs';
import { orElse } from '../core/result.ts';
import { nodeCertificates } from '../egress/resolve.ts';

/** Parts of the system that every program reads and that no ordinary user can write: any argument may name them. */
export const SYSTEM_PATHS = pathsIn(
  '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc/alternatives /etc/ssl/certs /System',
);

/** Names of devices and descriptors that expose nothing of the host. Judged by name: targets differ per process. */
export const DEVICES: ReadonlySet<string> = new Set(
  pathsIn(`/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/stdin /dev/stdout /dev/stderr /dev/tty
    /dev/fd /dev/fd/0 /dev/fd/1 /dev/fd/2 /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2`),
);

/** What a process sees of itself. Judged by name, as devices are. */
export const OWN_PROCESS = '/proc/self';

/** Where every user may write, and where every program puts temporary files. */
export const SCRATCH = '/tmp';

function pathsIn(texts: string): readonly string[] {
  return texts.split(/\s+/);
}

/** Where systems keep the certificates of authorities in one file. */
const BUNDLES = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];

/** The certificates that this system trusts, as one text; Node's own where the system has none. */
export function systemCertificates(): string {
  for (const path of BUNDLES) {
    const text = orElse(() => readFileSync(path, 'latin1'), null);
    if (text !== null) return text;
  }
  return nodeCertificates();
}

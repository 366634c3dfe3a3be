import { readFileSync } from 'node:fs';
import { nodeCertificates } from '../egress/system.ts';

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
    try {
      return readFileSync(path, 'latin1');
    } catch {
      // The next one, then.
    }
  }
  return nodeCertificates();
}

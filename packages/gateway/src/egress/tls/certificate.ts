import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { quote } from '../../core/hostile-text.ts';
import { formatHost, type Host } from '../authority.ts';
import { TLS_LIMITS } from '../limits.ts';
import * as der from './der.ts';

/*
 * Certificates (X.509 v3, RFC 5280) of an authority that lives as long as one run, and of the hosts it impersonates.
 * Anyone with its key can impersonate any host to a client that trusts it. So the key is generated here, is never
 * returned and is gone with the closure. Certificates satisfy the strictest verifiers in use.
 */

/** Signs for hosts. Its key is in none of its fields. */
export type CertificateAuthority = {
  /** What a client has to trust. */
  readonly certificatePem: string;
  /** A new key, and a certificate that is valid for this host alone and for as long as the authority. */
  readonly leafFor: (host: Host) => Leaf;
};

export type Leaf = { readonly keyPem: string; readonly certificatePem: string };

export type AuthorityTerms = {
  readonly nowMs: number;
  /** For people who look at the certificate. */
  readonly name: string;
  /** From 8 to 20 unpredictable bytes, others for every certificate. */
  readonly serial: () => Uint8Array;
  readonly lifeMs: number;
};

type Certificate = {
  readonly subject: Uint8Array;
  readonly publicKey: PublicKey;
  readonly extensions: readonly Uint8Array[];
};

type PublicKey = { readonly info: Uint8Array; readonly id: Uint8Array };
type KeyPair = { readonly privateKey: KeyObject; readonly publicKey: PublicKey };

const OID = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
} as const;

/** How far the clocks of clients may be behind. */
const SKEW_MS = 5 * 60_000;
/** Clients refuse certificates of more than 398 days. */
const MOST_LIFE_MS = 397 * 86_400_000;
/** From 1970 to where the form of a time in a certificate ends. */
const LAST_MS = Date.UTC(9999, 0, 1);
const COMMON_NAME_CHARS = 64;
const SERIAL_BYTES = { least: 8, most: 20 } as const;
const KEY_ID_BYTES = 20;
/** A P-256 key in DER is this many bytes of header, then the point. */
const KEY_HEADER_BYTES = 26;
const ALGORITHM = der.sequence(der.objectId(OID.ecdsaWithSha256));
const KEY_CERT_SIGN = der.bitString(Uint8Array.of(0b0000_0100), 2);
const DIGITAL_SIGNATURE = der.bitString(Uint8Array.of(0b1000_0000), 7);
const [DNS_NAME, IP_ADDRESS] = [2, 7];
const AUTHORITY_EXTENSIONS = [
  // Boundary: what it signs can sign nothing more.
  extension(OID.basicConstraints, der.sequence(der.yes(), der.integer(0)), true),
  extension(OID.keyUsage, KEY_CERT_SIGN, true),
];

/** Makes an authority with a key that no one else has. */
export function newAuthority(terms: AuthorityTerms): CertificateAuthority {
  checkTerms(terms);
  const own = newKeyPair();
  const issuer = commonName(terms.name);
  const validity = der.sequence(der.time(terms.nowMs - SKEW_MS), der.time(terms.nowMs + terms.lifeMs));
  const issue = ({ subject, publicKey, extensions }: Certificate): string => {
    const { info, id } = publicKey;
    const keyId = extension(OID.subjectKeyIdentifier, der.octetString(id));
    const issuerKeyId = extension(OID.authorityKeyIdentifier, der.sequence(der.context(0, own.publicKey.id)));
    const all = der.sequence(...extensions, keyId, issuerKeyId);
    const version = der.contextAround(0, der.integer(2));
    const serial = der.integer(serialFrom(terms.serial()));
    const names = [ALGORITHM, issuer, validity, subject, info];
    const content = der.sequence(version, serial, ...names, der.contextAround(3, all));
    const signature = der.bitString(sign('sha256', content, own.privateKey));
    return toPem('CERTIFICATE', der.sequence(content, ALGORITHM, signature));
  };
  return {
    certificatePem: issue({ subject: issuer, publicKey: own.publicKey, extensions: AUTHORITY_EXTENSIONS }),
    leafFor: (host) => {
      const { privateKey, publicKey } = newKeyPair();
      const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      return { keyPem, certificatePem: issue({ ...describe(host), publicKey }) };
    },
  };
}

/** For a host: its name in the field that verifiers use, and in the one that people see if it fits. */
function describe(host: Host): Omit<Certificate, 'publicKey'> {
  const hasSubject = host.kind === 'name' && host.name.length <= COMMON_NAME_CHARS;
  // Without a subject the other field must be one that no verifier may ignore.
  const altName = extension(OID.subjectAltName, der.sequence(generalName(host)), !hasSubject);
  const extensions = [
    extension(OID.basicConstraints, der.sequence(), true),
    extension(OID.keyUsage, DIGITAL_SIGNATURE, true),
    extension(OID.extKeyUsage, der.sequence(der.objectId(OID.serverAuth))),
    altName,
  ];
  return { subject: hasSubject ? commonName(host.name) : der.sequence(), extensions };
}

function generalName(host: Host): Uint8Array {
  if (host.kind === 'name') return der.context(DNS_NAME, Buffer.from(host.name, 'latin1'));
  const { family, value } = host.address;
  return der.context(IP_ADDRESS, Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex'));
}

function commonName(text: string): Uint8Array {
  return der.sequence(der.set(der.sequence(der.objectId(OID.commonName), der.utf8(text))));
}

function extension(oid: string, content: Uint8Array, isCritical = false): Uint8Array {
  return der.sequence(der.objectId(oid), ...(isCritical ? [der.yes()] : []), der.octetString(content));
}

function newKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  // The other form, JWK, would be faster but can hang Node 20 when garbage is collected during the import.
  const info = publicKey.export({ type: 'spki', format: 'der' });
  // RFC 7093: a digest of the key itself, cut to the length that all verifiers know.
  const id = createHash('sha256').update(info.subarray(KEY_HEADER_BYTES)).digest().subarray(0, KEY_ID_BYTES);
  return { privateKey, publicKey: { info, id } };
}

/** Made positive and free of zeros at its start by two bits, so that it has one form and at most 20 bytes. */
function serialFrom(bytes: Uint8Array): Uint8Array {
  const [first = 0, ...others] = bytes;
  if (bytes.length >= SERIAL_BYTES.least && bytes.length <= SERIAL_BYTES.most)
    return Uint8Array.of((first & 0x3f) | 0x40, ...others);
  throw new TypeError(
    `Cannot sign certificate: its serial has ${bytes.length} bytes, expected ${SERIAL_BYTES.least} to ${SERIAL_BYTES.most}`,
  );
}

function checkTerms({ nowMs, lifeMs, name }: AuthorityTerms): void {
  const refuse = (is: string, expected: string) => {
    throw new TypeError(`Cannot make authority: ${is}, expected ${expected}`);
  };
  if (!(nowMs >= 0 && nowMs + lifeMs < LAST_MS)) refuse(`the time is ${nowMs}`, 'one from 1970 to 9998');
  if (!(lifeMs >= 1_000 && lifeMs <= MOST_LIFE_MS))
    refuse(`it lives for ${lifeMs} ms`, `1000 to ${MOST_LIFE_MS}`);
  if (name === '' || name.length > COMMON_NAME_CHARS)
    refuse(`its name is ${quote(name)}`, `1 to ${COMMON_NAME_CHARS} characters`);
}

function toPem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** Opens tunnels to the hosts that it is for, with a certificate for each. */
export type Interceptor = {
  readonly isFor: (host: Host) => boolean;
  /** What a TLS server needs to pass as the host for clients that trust the authority. Refuses other hosts. */
  readonly contextFor: (host: Host) => SecureContext;
};

type InterceptorTerms = Pick<Interceptor, 'isFor'> & { readonly authority: CertificateAuthority };

export function newInterceptor({ authority, isFor }: InterceptorTerms): Interceptor {
  const contexts = new Map<string, SecureContext>();
  const contextFor = (host: Host): SecureContext => {
    const name = formatHost(host);
    // Boundary: no certificate is issued for a host whose tunnels are not opened.
    if (!isFor(host))
      throw new TypeError(
        `Cannot open tunnel: "${name}" is not a host to open, expected one of process.egress_intercept`,
      );
    const context = contexts.get(name) ?? makeContext(authority, host);
    contexts.delete(name);
    contexts.set(name, context);
    // Boundary: a run that keeps requesting new names does not fill the memory of the gateway.
    const [oldest] = contexts.keys();
    if (contexts.size > TLS_LIMITS.certificateHosts && oldest !== undefined) contexts.delete(oldest);
    return context;
  };
  return { isFor, contextFor };
}

function makeContext(authority: CertificateAuthority, host: Host): SecureContext {
  const { keyPem, certificatePem } = authority.leafFor(host);
  // No client presents a certificate here; without the empty list every context would load all roots.
  return createSecureContext({ key: keyPem, cert: certificatePem, ca: [], minVersion: 'TLSv1.2' });
}

/** Programs that judge certificates, at their strictest. Each takes what is right, and each refuses something. */
import { execFile, execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { hostOf } from '../sample.ts';
import { authorityOf, nameOf, serve, startTls, writeFiles } from './authorities.ts';

const NAME = 'api.example.com';
const LOOPBACK = '127.0.0.1';
const HOSTS = [
  NAME,
  'localhost',
  'a_b.example',
  nameOf(64),
  nameOf(65),
  nameOf(253),
  LOOPBACK,
  '[2001:db8::7]',
];
/** Those that can be connected to here. */
const REACHED = [NAME, nameOf(253), LOOPBACK];

type Ran = { readonly status: number; readonly out: string };

function run(command: string, ...args: readonly string[]): Promise<Ran> {
  const env = { PATH: process.env.PATH, HOME: tmpdir(), LC_ALL: 'C' };
  return new Promise((resolve) => {
    execFile(command, args, { env, timeout: 30_000 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ status, out: stdout + stderr });
    });
  });
}

const openssl = (...args: readonly string[]) => run('openssl', ...args);
const textOf = (path: string) => execFileSync('openssl', ['x509', '-noout', '-text', '-in', path]).toString();

function makeFiles() {
  const authority = authorityOf({});
  const leaves = HOSTS.map((host) => [host, authority.leafFor(hostOf(host)).certificatePem]);
  const files: Record<string, string> = Object.fromEntries(
    leaves.map(([, pem], index) => [`leaf-${index}.pem`, pem ?? '']),
  );
  const other = authorityOf({}).certificatePem;
  return writeFiles<string>({ ...files, 'ca.pem': authority.certificatePem, 'other.pem': other });
}

describe('openssl verify', () => {
  const strict = [
    'verify',
    '-x509_strict',
    '-check_ss_sig',
    '-purpose',
    'sslserver',
    '-auth_level',
    '2',
    '-CAfile',
  ];
  const requested = (host: string) =>
    hostOf(host).kind === 'name' ? ['-verify_hostname', host] : ['-verify_ip', host.replace(/[[\]]/g, '')];

  it('takes all leaves of an authority, and none of another', async () => {
    const { 'ca.pem': ca = '', 'other.pem': other = '', ...leaves } = makeFiles();
    for (const [index, host] of HOSTS.entries()) {
      const leaf = leaves[`leaf-${index}.pem`] ?? '';
      expect(await openssl(...strict, ca, ...requested(host), leaf)).toEqual({
        status: 0,
        out: `${leaf}: OK\n`,
      });
      expect(await openssl(...strict, ca, ...requested('other.example'), leaf)).toMatchObject({ status: 2 });
      expect(await openssl(...strict, other, leaf)).toMatchObject({ status: 2 });
    }
  });

  it('takes the authority for nothing but an authority', async () => {
    const { 'ca.pem': ca = '' } = makeFiles();
    expect(await openssl('verify', '-x509_strict', '-CAfile', ca, ca)).toMatchObject({ status: 0 });
  });

  it('takes nothing that was signed with a leaf', async () => {
    const authority = authorityOf({});
    const { keyPem, certificatePem } = authority.leafFor(hostOf(NAME));
    const { ca, leaf, key, made, request, forgedKey, terms } = writeFiles({
      ...{ ca: authority.certificatePem, leaf: certificatePem, key: keyPem },
      ...{ made: '', request: '', forgedKey: '', terms: 'subjectAltName=DNS:evil.example' },
    });
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    await openssl('req', '-new', ...kind, '-subj', '/CN=evil.example', '-keyout', forgedKey, '-out', request);
    const signed = [
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      leaf,
      '-CAkey',
      key,
      '-extfile',
      terms,
      '-out',
      made,
    ];
    expect(await openssl(...signed)).toMatchObject({ status: 0 });
    expect(await openssl('verify', '-CAfile', ca, leaf)).toMatchObject({ status: 0 });
    const verdict = await openssl('verify', '-CAfile', ca, '-untrusted', leaf, made);
    expect(verdict.status).toBe(2);
    expect(verdict.out).toMatch(/invalid CA certificate|path length constraint/);
  });
});

describe('openssl x509', () => {
  const extensionsIn = (text: string) =>
    [...text.matchAll(/^ {12}X509v3 ([^:]+): ?(critical)?\s*\n((?: {16}.*\n)+)/gm)].map(
      ([, name, critical = '', value = '']) => [name, critical, value.trim().replace(/\s+/g, ' ')].join('|'),
    );
  const keyId = expect.stringMatching(/^Subject Key Identifier\|\|(?:[0-9A-F]{2}:?){20}$/);
  const issuerId = expect.stringMatching(/^Authority Key Identifier\|\|(?:keyid:)?(?:[0-9A-F]{2}:?){20}$/);

  it('shows an authority that signs one step deep', () => {
    const { 'ca.pem': ca = '' } = makeFiles();
    const text = textOf(ca);
    expect(text).toContain('Version: 3 (0x2)');
    expect(text).toContain('NIST CURVE: P-256');
    expect(text.match(/Signature Algorithm: ecdsa-with-SHA256/g)).toHaveLength(2);
    expect(extensionsIn(text)).toEqual([
      'Basic Constraints|critical|CA:TRUE, pathlen:0',
      'Key Usage|critical|Certificate Sign',
      keyId,
      issuerId,
    ]);
  });

  it.each([
    [NAME, `Subject Alternative Name||DNS:${NAME}`],
    [nameOf(65), `Subject Alternative Name|critical|DNS:${nameOf(65)}`],
    [LOOPBACK, `Subject Alternative Name|critical|IP Address:${LOOPBACK}`],
  ])('shows a leaf for %s that serves and signs nothing', (host, altName) => {
    const { leaf } = writeFiles({ leaf: authorityOf({}).leafFor(hostOf(host)).certificatePem });
    expect(extensionsIn(textOf(leaf))).toEqual([
      'Basic Constraints|critical|CA:FALSE',
      'Key Usage|critical|Digital Signature',
      'Extended Key Usage||TLS Web Server Authentication',
      altName,
      keyId,
      issuerId,
    ]);
  });

  it('shows the same identifier of the key in the authority and in what it signed', () => {
    const authority = authorityOf({});
    const { ca, leaf } = writeFiles({
      ca: authority.certificatePem,
      leaf: authority.leafFor(hostOf(NAME)).certificatePem,
    });
    const idIn = (path: string, which: string) =>
      extensionsIn(textOf(path))
        .find((each) => each.startsWith(which))
        ?.replace(/^.*\|(?:keyid:)?/, '');
    expect(idIn(leaf, 'Authority')).toBe(idIn(ca, 'Subject'));
    expect(idIn(leaf, 'Subject')).not.toBe(idIn(ca, 'Subject'));
  });

  it('writes again the same bytes that it read', () => {
    const authority = authorityOf({});
    for (const pem of [authority.certificatePem, authority.leafFor(hostOf(nameOf(253))).certificatePem]) {
      const der = execFileSync('openssl', ['x509', '-outform', 'DER'], { input: pem });
      expect(der.equals(new X509Certificate(pem).raw)).toBe(true);
      expect(execFileSync('openssl', ['x509'], { input: pem }).toString()).toBe(pem);
    }
  });
});

describe('python at its strictest', () => {
  const script = `
import socket, ssl, sys
ca, host, port = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
context.verify_flags |= ssl.VERIFY_X509_STRICT
try:
    with context.wrap_socket(socket.create_connection(('127.0.0.1', int(port))), server_hostname=host) as tls:
        print('trusted', tls.version())
except ssl.SSLCertVerificationError as error:
    print('refused', error.verify_message)`;
  const look = async (ca: string, host: string, port: number) =>
    (await run('python3', '-c', script, ca, host, `${port}`)).out.trim();

  it.each(REACHED)('takes %s from who it trusts, and from nobody else', async (host) => {
    const authority = authorityOf({});
    const { ca, other } = writeFiles({ ca: authority.certificatePem, other: authorityOf({}).certificatePem });
    const port = await startTls(serve(authority.leafFor(hostOf(host))));
    expect(await look(ca, host, port)).toBe('trusted TLSv1.3');
    expect(await look(other, host, port)).toContain('unable to get local issuer certificate');
    expect(await look(ca, 'other.example', port)).toMatch(/^refused .*mismatch/);
  });
});

describe('curl', () => {
  const get = (ca: string, host: string, port: number) => {
    const common = ['-sS', '--noproxy', '*', '--max-time', '20', '--cacert', ca];
    return run('curl', ...common, '--resolve', `${host}:${port}:${LOOPBACK}`, `https://${host}:${port}/`);
  };

  it.each(REACHED)('takes %s from who it trusts, and from nobody else', async (host) => {
    const authority = authorityOf({});
    const { ca, other } = writeFiles({ ca: authority.certificatePem, other: authorityOf({}).certificatePem });
    const port = await startTls(serve(authority.leafFor(hostOf(host))));
    expect(await get(ca, host, port)).toEqual({ status: 0, out: 'hello' });
    expect(await get(other, host, port)).toMatchObject({ status: 60 });
    expect(await get(ca, 'other.example', port)).toMatchObject({ status: 60 });
  });
});

/** Programs that people use, against the proxy. Each gets what is allowed and is told about what is not. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RUN, startOpened } from './tls-world.ts';
import {
  allowing,
  connectHead,
  eventually,
  listenOn,
  NAME,
  openClient,
  startHttp,
  startProxy,
  TOKEN,
} from './world.ts';

const ANSWERS = { [NAME]: ['127.0.0.1'] };

type Ran = { readonly status: number; readonly out: string };

/** Runs a program that knows the proxy from its environment alone. */
function run(command: string, args: readonly string[], proxyPort: number, cwd = tmpdir()): Promise<Ran> {
  const proxy = `http://run:${TOKEN}@127.0.0.1:${proxyPort}`;
  const env = {
    ...{ PATH: process.env.PATH, HOME: cwd, LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
    NODE_USE_ENV_PROXY: '1',
    ...{ http_proxy: proxy, https_proxy: proxy, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, no_proxy: '' },
  };
  return new Promise((resolve) => {
    execFile(command, args, { env, cwd, timeout: 30_000 }, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      resolve({ status, out: stdout + stderr });
    });
  });
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'proxy-clients-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function startSite(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const { port: target } = await startHttp(handle);
  const proxy = await startProxy({ entries: allowing(NAME, target), answers: ANSWERS });
  return { ...proxy, target, url: `http://${NAME}:${target}` };
}

/** A site with a certificate that nobody signed, whose key is made for the test. */
async function startTlsSite() {
  const folder = makeFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`, '-days', '2'];
  const files = ['-keyout', key, '-out', cert];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...kind, ...files, ...subject], { stdio: 'ignore' });
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_request, response) =>
    response.end('hello over TLS'),
  );
  const target = await listenOn(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const proxy = await startProxy({ entries: allowing(NAME, target), answers: ANSWERS });
  return { ...proxy, cert, url: `https://${NAME}:${target}`, folder };
}

/** Sends a body back in chunks, as the site of the tests does. */
function echo(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { 'X-Method': request.method ?? '' });
  request.pipe(response);
}

describe('curl', () => {
  it('gets, sends and receives what is allowed', async () => {
    const { port, url, proxy } = await startSite(echo);
    const folder = makeFolder();
    const large = 'x'.repeat(3_000_000);
    writeFileSync(join(folder, 'large'), large);
    const common = ['-sS', '--max-time', '20'];
    expect(await run('curl', [...common, '-d', 'hello', `${url}/a?b`], port)).toEqual({
      status: 0,
      out: 'hello',
    });
    const sent = await run(
      'curl',
      [...common, '-T', join(folder, 'large'), '-o', 'back', `${url}/`],
      port,
      folder,
    );
    expect(sent).toEqual({ status: 0, out: '' });
    expect(readFileSync(join(folder, 'back'), 'utf8')).toBe(large);
    const chunked = ['-H', 'Transfer-Encoding: chunked', '-d', 'in chunks'];
    expect((await run('curl', [...common, ...chunked, `${url}/`], port)).out).toBe('in chunks');
    expect((await run('curl', [...common, '-I', `${url}/`], port)).out).toContain('X-Method: HEAD');
    const offered = ['--http2', '-d', 'no h2c'];
    expect((await run('curl', [...common, ...offered, `${url}/`], port)).out).toBe('no h2c');
    expect((await run('curl', [...common, '-0', `${url}/`], port)).status).toBe(0);
    expect(proxy.facts()).toMatchObject({ requests: 6, denied: 0, cut: 0, malformed: 0 });
  });

  it('makes two requests in one call, each on a connection of its own', async () => {
    const { port, url, proxy } = await startSite(echo);
    const both = ['-sS', '-d', 'one', `${url}/1`, `${url}/2`];
    expect(await run('curl', both, port)).toEqual({ status: 0, out: 'oneone' });
    expect(proxy.facts()).toMatchObject({ connections: 2, requests: 2 });
  });

  it('is told why it does not get what is denied', async () => {
    const { port, url, asked, proxy } = await startSite(echo);
    const denied = await run('curl', ['-sS', '-i', 'http://denied.test/'], port);
    expect(denied.out).toContain('X-Palisade-Egress: denied');
    expect(denied.out).toContain(
      'Cannot reach "denied.test:80": no entry of the allow-list has this host, expected one such as "denied.test:80"',
    );
    const tunnel = await run('curl', ['-sS', 'https://denied.test/'], port);
    expect(tunnel.status).toBe(56);
    expect(tunnel.out).toContain('403');
    expect(asked).toEqual([]);
    expect(proxy.facts().decisions.map(({ host, verdict }) => `${host} ${verdict}`)).toEqual([
      'denied.test deny',
      'denied.test deny',
    ]);
    const noToken = ['-sS', '-o', 'out', '-w', '%{http_code}', '--proxy', `http://127.0.0.1:${port}`, url];
    expect((await run('curl', noToken, port, makeFolder())).out).toBe('407');
  });

  it('speaks TLS through a tunnel with the target itself', async () => {
    const { port, url, cert, proxy } = await startTlsSite();
    const trusting = ['-sS', '--cacert', cert, `${url}/`];
    expect(await run('curl', trusting, port)).toEqual({ status: 0, out: 'hello over TLS' });
    expect((await run('curl', ['-sS', `${url}/`], port)).status).toBe(60);
    expect(proxy.facts().decisions).toMatchObject([{ method: 'CONNECT' }, { method: 'CONNECT' }]);
  });

  it('does not get in by SOCKS', async () => {
    const { port, url } = await startSite(echo);
    for (const scheme of ['socks4', 'socks4a', 'socks5', 'socks5h']) {
      const args = ['-sS', '--max-time', '5', '--proxy', `${scheme}://run:${TOKEN}@127.0.0.1:${port}`, url];
      expect((await run('curl', args, port)).status, scheme).not.toBe(0);
    }
    expect((await run('curl', ['-sS', url], port)).status).toBe(0);
  });
});

describe('python', () => {
  const script = (url: string) =>
    [
      'import sys, urllib.request, urllib.error',
      `try: print(urllib.request.urlopen("${url}", timeout=20).read().decode())`,
      'except urllib.error.HTTPError as e: print(e.code, e.read().decode())',
      'except Exception as e: print(e)',
    ].join('\n');

  it('urllib gets what is allowed and is told what is denied', async () => {
    const { port, url } = await startSite((_request, response) => response.end('hello'));
    expect((await run('python3', ['-c', script(`${url}/`)], port)).out).toBe('hello\n');
    const denied = await run('python3', ['-c', script('http://denied.test/')], port);
    expect(denied.out).toContain('403 Cannot reach "denied.test:80"');
    // Of a refused tunnel it shows the first line alone.
    const tunnel = await run('python3', ['-c', script('https://denied.test/')], port);
    expect(tunnel.out).toContain(
      '403 Cannot reach "denied.test:443": no entry of the allow-list has this host',
    );
  });

  it('urllib speaks TLS through a tunnel', async () => {
    const { port, url, cert } = await startTlsSite();
    const trusting = `import os; os.environ["SSL_CERT_FILE"] = "${cert}"\n${script(`${url}/`)}`;
    expect((await run('python3', ['-c', trusting], port)).out).toBe('hello over TLS\n');
  });
});

describe('git', () => {
  it('clones from and pushes to an allowed host, and is told about another', async () => {
    const folder = makeFolder();
    const git = (...args: string[]) =>
      execFileSync('git', args, { cwd: folder, env: gitEnv(folder), stdio: 'pipe' });
    git('init', '-q', '-b', 'main', 'work');
    writeFileSync(join(folder, 'work', 'file'), 'first\n');
    git('-C', 'work', 'add', '.');
    git('-C', 'work', 'commit', '-q', '-m', 'first');
    git('clone', '-q', '--bare', 'work', 'site.git');
    git('-C', 'site.git', 'config', 'http.receivepack', 'true');
    const { port, url, proxy } = await startSite((request, response) => answerGit(folder, request, response));
    const cloned = await run('git', ['clone', '-q', `${url}/site.git`, 'copy'], port, folder);
    expect(cloned).toEqual({ status: 0, out: '' });
    expect(readFileSync(join(folder, 'copy', 'file'), 'utf8')).toBe('first\n');
    // More than git sends in one piece, so that the pack goes in chunks.
    writeFileSync(
      join(folder, 'copy', 'large'),
      Buffer.from(Array.from({ length: 400_000 }, (_, i) => (i * i) >> 7)),
    );
    git('-C', 'copy', 'add', '.');
    git('-C', 'copy', 'commit', '-q', '-m', 'second');
    const push = ['-C', 'copy', '-c', 'http.postBuffer=65536', 'push', '-q', 'origin', 'main'];
    expect(await run('git', push, port, folder)).toEqual({ status: 0, out: '' });
    expect(git('-C', 'site.git', 'log', '--format=%s', 'main').toString()).toBe('second\nfirst\n');
    expect(proxy.facts()).toMatchObject({ denied: 0, cut: 0, malformed: 0, faults: 0 });
    const denied = await run('git', ['clone', '-q', 'http://denied.test/site.git', 'none'], port, folder);
    expect(denied.status).toBe(128);
    expect(denied.out).toContain('403');
  });
});

function gitEnv(home: string) {
  const name = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@a.test' };
  const committer = { GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@a.test' };
  return { PATH: process.env.PATH, HOME: home, ...name, ...committer };
}

/** Hands a request to the program of git that answers requests. */
function answerGit(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = '', query = ''] = (request.url ?? '').split('?');
  const child = spawn('git', ['http-backend'], {
    env: {
      ...{ PATH: process.env.PATH, GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: path },
      ...{
        REQUEST_METHOD: request.method ?? '',
        QUERY_STRING: query,
        REMOTE_USER: 'a',
        REMOTE_ADDR: '127.0.0.1',
      },
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
    },
  });
  child.stdin.on('error', () => {});
  request.pipe(child.stdin);
  const pieces: Buffer[] = [];
  child.stdout.on('data', (piece) => pieces.push(piece));
  child.on('close', () => {
    const all = Buffer.concat(pieces);
    const end = all.indexOf('\r\n\r\n');
    for (const line of all.toString('latin1', 0, end).split('\r\n')) {
      const [name = '', value = ''] = line.split(': ');
      if (name === 'Status') response.statusCode = Number(value.slice(0, 3));
      else response.setHeader(name, value);
    }
    response.end(all.subarray(end + 4));
  });
}

describe('curl through an opened tunnel', () => {
  const start = async () => {
    const world = await startOpened({ entries: [`GET,POST https://${NAME}:PORT/v1/`] });
    const folder = makeFolder();
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, RUN.certificatePem);
    return { ...world, common: ['-sS', '--max-time', '20'], ca, url: `https://${world.authority}/v1/` };
  };

  it('gets what is allowed and is told about what is not', async () => {
    const { port, common, ca, url, decisions } = await start();
    const trusting = [...common, '--cacert', ca];
    expect(await run('curl', [...trusting, url], port)).toEqual({ status: 0, out: 'hello' });
    expect(await run('curl', [...trusting, '-d', 'body', url], port)).toEqual({ status: 0, out: 'hello' });
    const denied = await run('curl', [...trusting, '-X', 'DELETE', url], port);
    expect(denied.out).toContain('its method is not allowed by the entry');
    expect(decisions().map(({ method, verdict }) => `${method} ${verdict}`)).toEqual([
      'GET allow',
      'POST allow',
      'DELETE deny',
    ]);
  });

  it('that does not trust the run says so, and so does the record', async () => {
    const { port, common, url, decisions, target } = await start();
    expect(await run('curl', [...common, url], port)).toMatchObject({ status: 60 });
    await eventually(() => decisions().length === 1);
    expect(decisions()).toMatchObject([{ method: 'CONNECT', verdict: 'deny', intercepted: true }]);
    expect(decisions()[0]?.why).toMatch(/the client broke off TLS \(ERR_SSL_\w*UNKNOWN_CA\)/);
    expect(target.raws).toEqual([]);
  });
});

describe('a client that asks for a tunnel for HTTP in the open', () => {
  const start = async () => {
    const { port: target } = await startHttp((request, response) => {
      let body = '';
      request.on('data', (piece) => {
        body += piece;
      });
      request.on('end', () => response.end(`${request.method} ${request.url} ${body}`));
    });
    const entries = [
      `GET http://${NAME}:${target}/`,
      `POST http://${NAME}:${target}/a`,
      `127.0.0.1:${target}`,
    ];
    const proxy = await startProxy({ entries, answers: ANSWERS });
    return { ...proxy, url: `http://${NAME}:${target}`, authority: `${NAME}:${target}` };
  };
  const reported = ({ decisions }: Awaited<ReturnType<typeof start>>) =>
    decisions().map(({ method, verdict }) => `${method} ${verdict}`);

  it('such as curl gets what is allowed and is told about what is not', async () => {
    const world = await start();
    const curl = (...args: string[]) =>
      run('curl', ['-sS', '--max-time', '20', '--proxytunnel', ...args], world.port);
    expect(await curl(`${world.url}/b`)).toEqual({ status: 0, out: 'GET /b ' });
    expect(await curl('-d', 'sent', `${world.url}/a`)).toEqual({ status: 0, out: 'POST /a sent' });
    expect((await curl('-d', 'sent', `${world.url}/b`)).out).toContain(
      'its method is not allowed by the entry',
    );
    const two = await curl(`${world.url}/1`, `${world.url}/2`);
    expect(two).toEqual({ status: 0, out: 'GET /1 GET /2 ' });
    expect(reported(world)).toEqual(['GET allow', 'POST allow', 'POST deny', 'GET allow', 'GET allow']);
    expect(world.proxy.facts()).toMatchObject({ malformed: 0, cut: 0, faults: 0 });
  });

  it('such as fetch() of Node gets what is allowed and is told about what is not', async () => {
    const world = await start();
    const { out } = await fetchBoth(world);
    expect(out).toContain('200 GET /b \n200 POST /a sent\n403 Cannot reach');
    expect(reported(world)).toEqual(['GET allow', 'POST allow', 'POST deny']);
    expect(world.proxy.facts()).toMatchObject({ malformed: 0, cut: 0, faults: 0 });
  });
});

type FetchWorld = { readonly port: number; readonly url: string; readonly authority: string };

/** Gets /b, posts to /a and to /b, as Node does it that knows of proxies, and prints a line for each answer. */
async function fetchBoth({ port, url, authority }: FetchWorld): Promise<Ran> {
  const asked = [{ path: '/b' }, { path: '/a', body: 'sent' }, { path: '/b', body: 'sent' }];
  if (process.allowedNodeEnvironmentFlags.has('--use-env-proxy')) {
    const program = `(async () => { for (const { path, body } of ${JSON.stringify(asked)}) {
      const response = await fetch('${url}' + path, body ? { method: 'POST', body } : {});
      console.log(response.status, await response.text());
    } })();`;
    return run(process.execPath, ['-e', program], port);
  }
  // An older Node sends nothing to a proxy; these are the bytes of a newer one.
  let out = '';
  for (const { path, body } of asked) {
    const client = openClient(port);
    client.socket.write(connectHead(authority, 'connection: close', 'proxy-connection: keep-alive'));
    await client.until('\r\n\r\n');
    client.socket.write(fetchText(authority, path, body));
    const [answer = '', text = ''] = (await client.ended).body.split('\r\n\r\n');
    out += `${answer.slice(9, 12)} ${text}\n`;
  }
  return { status: 0, out };
}

function fetchText(host: string, path: string, body: string | undefined): string {
  const [method, ofBody, length] =
    body === undefined
      ? ['GET', [], []]
      : ['POST', ['content-type: text/plain;charset=UTF-8'], [`content-length: ${body.length}`]];
  const wishes = ['accept: */*', 'accept-language: *', 'sec-fetch-mode: cors', 'user-agent: node'];
  const all = [`host: ${host}`, 'connection: keep-alive', ...ofBody, ...wishes];
  return [
    `${method} ${path} HTTP/1.1`,
    ...[...all, 'accept-encoding: gzip, deflate', ...length],
    ...['', body ?? ''],
  ].join('\r\n');
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webUrl } from '../../../../tests/volume/characters.ts';
import { commandsIn } from '../../src/runner/named-commands.ts';
import { hostsIn } from '../../src/runner/named-hosts.ts';

function hosts(program: string, ...args: readonly string[]): readonly string[] {
  return hostsIn(commandsIn(program, args).commands);
}

describe('hostsIn()', () => {
  it.each<[string, string[], string[]]>([
    ['git', ['clone', 'https://Example.com/x.git'], ['example.com']],
    ['git', ['clone', 'git@example.com:group/x.git'], ['example.com']],
    ['git', ['clone', 'example.com:group/x.git'], ['example.com']],
    ['git', ['clone', 'ssh://git@example.com.:22/x'], ['example.com']],
    ['git', ['clone', 'git+ssh://example.com/x'], ['example.com']],
    ['git', ['push', 'origin', 'main:main'], []],
    ['git', ['show', 'HEAD:80', 'v1.2:src/x'], []],
    ['git', ['commit', '-m', 'see https://example.com:8080 and a@b.example'], []],
    ['git', ['config', 'user.email', 'a@b.example'], []],
    ['tool', ['--url=https://example.com:8443/x', '-uhttp://b.example'], ['example.com', 'b.example']],
    ['tool', ['--listen=127.0.0.1:80'], ['127.0.0.1']],
    ['tool', ['localhost:5432', '[::1]:80', 'redis:6379'], ['localhost', '::1', 'redis']],
    ['tool', ['http://[2001:db8::1]:80/x'], ['2001:db8::1']],
    ['tool', ['10.0.0.1', '::1'], ['10.0.0.1', '::1']],
    ['tool', ['status', 'main.c', '--out=a.txt', 'a/b', 'file:///etc/passwd', '-O2'], []],
    ['tool', ['node:20', '--at=12:30', '12:30:45', 'react@18.2.0', '@scope/x@latest', 'a:b'], []],
    ['curl', ['http://example.com'], ['example.com']],
    ['curl', ['http://user:pass@example.com:8080/x?y=http://z.example'], ['example.com', 'z.example']],
    ['curl', ['-s', 'example.com/x', '-o', 'out.html'], ['example.com']],
    ['curl', ['-sSLo', 'out.html', 'user@example.com:80/x'], ['example.com']],
    [
      'curl',
      ['--proto', '=https', '-H', 'Origin: https://a.example', '--url=https://b.example'],
      ['b.example'],
    ],
    [
      'curl',
      ['-d', '@body.json', '--data=http://a.example', '-x', 'proxy.example:3128', 'b.example'],
      ['proxy.example', 'b.example'],
    ],
    ['/usr/bin/curl', ['0x7f000001', '2130706433', '127.1'], ['0x7f000001', '2130706433', '127.1']],
    ['ssh', ['-p', '22', 'user@example.com', 'uptime'], ['example.com']],
    [
      'ssh',
      ['-J', 'jump.example', 'example.com', 'curl http://x.example'],
      ['jump.example', 'example.com', 'x.example'],
    ],
    ['scp', ['x', 'example.com:/srv/x'], ['example.com']],
    ['rsync', ['-a', 'src/', 'me@host:/x'], ['host']],
    ['nc', ['-w', '3', 'example.com', '80'], ['example.com']],
    ['http', ['POST', 'example.com/x', 'a=b'], ['example.com']],
    ['socat', ['-', 'TCP4:example.com:80'], ['example.com']],
    ['python3', ['-c', 'import urllib; urllib.urlopen("http://a.example/x")'], ['a.example']],
    ['grep', ['-r', 'https://example.com', 'src'], []],
    ['sh', ['-c', 'curl -s https://a.example/x | sh; wget -qO- b.example'], ['a.example', 'b.example']],
    ['sh', ['-c', 'curl "https://$HOST/x" "http://a.example/$y"'], ['a.example']],
    ['bash', ['-c', 'exec 3<>/dev/tcp/a.example/80'], ['a.example']],
    ['env', ['A=1', 'curl', 'a.example'], ['a.example']],
    ['xargs', ['-n1', 'curl', '-O', 'https://a.example'], ['a.example']],
  ])('of %s %j are %j', (program, args, named) => {
    expect([...hosts(program, ...args)].sort()).toEqual([...named].sort());
  });

  it('gives every host that a doubtful URL can mean', () => {
    expect(hosts('tool', 'https://good.example@evil.example/')).toContain('evil.example');
    for (const url of ['https://a@good.example@evil.example/', 'https://good.example\\@evil.example/'])
      expect(hosts('tool', url)).toEqual(expect.arrayContaining(['good.example', 'evil.example']));
  });

  const PLACES: readonly ((url: string) => readonly [string, ...string[]])[] = [
    (url) => ['tool', url],
    (url) => ['tool', `--x=${url}`],
    (url) => ['curl', '-s', url],
    (url) => ['wget', `--referer=x`, url],
    (url) => ['git', 'clone', url],
    (url) => ['python3', '-c', `open(${JSON.stringify(url)})`],
    (url) => ['sh', '-c', `set -e; x=1 curl -fsS '${url.replaceAll("'", "'\\''")}' >/dev/null 2>&1 | head`],
    (url) => ['timeout', '5', 'curl', url],
  ];

  it('finds what the URL parser of Node finds, wherever the URL is written, and nothing of its scheme', () => {
    fc.assert(
      fc.property(webUrl(['http', 'https', 'ftp']), fc.constantFrom(...PLACES), (url, place) => {
        const { hostname, protocol } = new URL(url);
        const found = hosts(...place(url));
        expect(found).toContain(hostname.replace(/\.$/, ''));
        expect(found).not.toContain(protocol.slice(0, -1));
      }),
    );
  });
});

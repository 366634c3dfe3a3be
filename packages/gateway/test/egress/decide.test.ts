import { describe, expect, it } from 'vitest';
import { decide, denyAddress } from '../../src/egress/decide.ts';
import { addressOf, listOf, requestOf } from './sample.ts';

/** The verdict on each request, `+` for those that may leave. */
function verdicts(entries: readonly string[], requests: readonly string[]): readonly string[] {
  const list = listOf(...entries);
  return requests.map((text) => `${decide(list, requestOf(text)).verdict === 'allow' ? '+' : '-'} ${text}`);
}

function check(entries: readonly string[], expected: readonly string[]): void {
  const requests = expected.map((line) => line.slice(2));
  expect(verdicts(entries, requests)).toEqual(expected);
  expect(verdicts(entries.toReversed(), requests)).toEqual(expected);
}

describe('decide() on names', () => {
  it.each<[string[], string[]]>([
    [[], ['- example.com:443', '- 8.8.8.8:443', '- [2606::1]:443', '- localhost:80']],
    [
      ['example.com'],
      [
        '+ example.com:443',
        '+ EXAMPLE.com.:80',
        '- example.com:22',
        '- a.example.com:443',
        '- evilexample.com:443',
      ],
    ],
    [['example.com'], ['- example.com.evil.io:443', '- example.co:443', '- com:443', '- 93.184.216.34:443']],
    [
      ['*.example.com'],
      [
        '+ a.example.com:443',
        '+ a.b.example.com:80',
        '- example.com:443',
        '- evilexample.com:443',
        '- a.example.com.evil.io:443',
      ],
    ],
    [
      ['*.a.example.com'],
      ['- a.example.com:443', '- b.example.com:443', '- xa.example.com:443', '+ b.a.example.com:443'],
    ],
    [
      ['example.com:443'],
      ['+ example.com:443', ...[22, 25, 53, 80, 444, 6379, 65_535].map((port) => `- example.com:${port}`)],
    ],
    [
      ['example.com:8443', 'example.com:22'],
      ['+ example.com:8443', '+ example.com:22', '- example.com:443'],
    ],
    [['bücher.example'], ['+ bücher.example:443', '+ XN--BCHER-KVA.example:443', '- bucher.example:443']],
    [
      ['https://example.com'],
      ['+ GET https://example.com:443/', '- GET http://example.com:80/', '- GET http://example.com:443/'],
    ],
    [['https://example.com:8443'], ['+ https://example.com:8443', '- https://example.com:443']],
  ])('with %j gives %j', (entries, expected) => {
    check(entries, expected);
  });
});

describe('decide() on denials', () => {
  it.each<[string[], string[]]>([
    [
      ['example.com', '!example.com'],
      ['- example.com:443', '- example.com:80'],
    ],
    [
      ['example.com', '!example.com:80'],
      ['+ example.com:443', '- example.com:80'],
    ],
    [
      ['*.example.com', '!a.example.com'],
      ['+ b.example.com:443', '- a.example.com:443', '+ x.a.example.com:443'],
    ],
    [
      ['*.example.com', '!*.a.example.com'],
      ['+ a.example.com:443', '- x.a.example.com:443'],
    ],
    [['a.example.com', '!*.example.com'], ['- a.example.com:443']],
    [['a.example.com:8443', '!*.com'], ['- a.example.com:8443']],
    [['!example.com'], ['- example.com:443', '- other.example:443']],
    [
      ['10.0.0.0/8', '!10.1.0.0/16'],
      ['+ 10.2.0.1:80', '- 10.1.0.1:80', '- [::ffff:10.1.0.1]:80'],
    ],
    [
      ['10.1.0.0/16', '!10.0.0.0/8:80'],
      ['- 10.1.0.1:80', '+ 10.1.0.1:443'],
    ],
    [
      ['[64:ff9b::]/96', '!8.8.8.0/24'],
      ['- [64:ff9b::8.8.8.8]:443', '+ [64:ff9b::8.8.9.8]:443'],
    ],
    [
      ['[2002::]/16', '!8.8.8.8'],
      ['- [2002:808:808::1]:443', '+ [2002:808:809::1]:443'],
    ],
  ])('with %j gives %j', (entries, expected) => {
    check(entries, expected);
  });
});

describe('decide() on schemes, methods and paths', () => {
  it.each<[string[], string[]]>([
    [
      ['https://example.com/v1/'],
      [
        '+ GET https://example.com/v1/x',
        '+ https://example.com/v1/?q',
        '- https://example.com/v1',
        '- https://example.com/v2/',
      ],
    ],
    [
      ['https://example.com/v1'],
      [
        '+ https://example.com/v1',
        '+ https://example.com/v1/x',
        '- https://example.com/v1x',
        '- https://example.com/V1',
      ],
    ],
    [
      ['https://example.com/v1/'],
      [
        '- https://example.com/v1/../v2',
        '- https://example.com/v1/%2e%2e/v2',
        '- https://example.com/v1/..%2fv2',
        '- https://example.com/v1/..;/v2',
      ],
    ],
    [
      ['https://example.com/v1/'],
      [
        '- example.com:443',
        '- https://example.com',
        '- http://example.com:80/v1/x',
        '- https://example.com:8443/v1/x',
      ],
    ],
    [
      ['GET,HEAD https://example.com/'],
      [
        '+ GET https://example.com/x',
        '+ HEAD https://example.com/',
        '- POST https://example.com/x',
        '- get https://example.com/x',
      ],
    ],
    [
      ['GET example.com'],
      ['+ GET http://example.com:80/', '- POST http://example.com:80/', '- example.com:443'],
    ],
    [
      ['example.com', '!https://example.com/admin/'],
      ['+ https://example.com/x', '- https://example.com/admin/x', '- https://example.com/admin'],
    ],
    [
      ['example.com', '!https://example.com/admin/'],
      [
        '- https://example.com/ADMIN/x',
        '- https://example.com//admin/x',
        '- https://example.com/%61dmin/',
        '- https://example.com/;a/admin;b/c',
      ],
    ],
    [
      ['example.com', '!https://example.com/admin/'],
      [
        '- https://example.com/x/../admin/',
        '- https://example.com/x%2f..%2fadmin',
        '+ https://example.com/administrator',
      ],
    ],
    // What goes through a tunnel is not seen, so it may be what is denied.
    [
      ['example.com', '!https://example.com/admin/'],
      ['- example.com:443', '- https://example.com', '+ http://example.com:80/admin/'],
    ],
    [
      ['example.com', '!DELETE example.com'],
      [
        '+ GET https://example.com/',
        '- DELETE https://example.com/',
        '- delete https://example.com/',
        '- example.com:443',
      ],
    ],
    [
      ['example.com', '!http://example.com'],
      [
        '+ https://example.com/',
        '- http://example.com:80/',
        '- http://example.com:443/',
        '- example.com:443',
      ],
    ],
  ])('with %j gives %j', (entries, expected) => {
    check(entries, expected);
  });
});

describe('decide() on addresses', () => {
  it.each<[string[], string[]]>([
    [
      ['8.8.8.8'],
      [
        '+ 8.8.8.8:443',
        '+ 134744072:443',
        '+ 0x8080808:80',
        '+ [::ffff:808:808]:80',
        '- 8.8.4.4:443',
        '- [64:ff9b::8.8.8.8]:443',
      ],
    ],
    [['10.1.2.0/24:8080'], ['+ 10.1.2.3:8080', '+ 0xa.0x1.515:8080', '- 10.1.3.3:8080', '- 10.1.2.3:80']],
    [
      ['127.0.0.1:3000'],
      [
        '+ 127.0.0.1:3000',
        '+ 127.1:3000',
        '- 127.0.0.2:3000',
        '- 127.0.0.1:80',
        '- [::1]:3000',
        '- localhost:3000',
      ],
    ],
    [['[::1]:3000'], ['+ [::1]:3000', '+ [0:0::0:1]:3000', '- 127.0.0.1:3000']],
    // A range that was not written for special addresses opens none of them.
    [
      ['96.0.0.0/8', '100.0.0.0/8'],
      ['+ 100.1.0.1:80', '- 100.64.0.1:80', '- 100.100.100.200:80'],
    ],
    [
      ['169.254.0.0/16'],
      ['+ 169.254.1.1:80', '- 169.254.169.254:80', '- 2852039166:80', '- 169.254.170.2:80'],
    ],
    [['169.254.169.254:80'], ['+ 169.254.169.254:80', '- 169.254.169.254:443', '- [fd00:ec2::254]:80']],
    [['168.63.0.0/16'], ['+ 168.63.1.1:80', '- 168.63.129.16:80']],
    [['[fd00::]/8'], ['+ [fd12::1]:80', '- [fd00:ec2::254]:80', '- [fd20:ce::254]:80']],
    [
      ['[64:ff9b::]/96'],
      ['+ [64:ff9b::8.8.8.8]:443', '- [64:ff9b::7f00:1]:443', '- [64:ff9b::a9fe:a9fe]:443'],
    ],
    [
      ['[64:ff9b::]/96', '127.0.0.1'],
      ['- [64:ff9b::7f00:1]:443', '+ 127.0.0.1:443'],
    ],
    [['[64:ff9b::7f00:1]'], ['+ [64:ff9b::127.0.0.1]:443', '- 127.0.0.1:443']],
    [['[2606:4700::]/32'], ['+ [2606:4700::1]:443', '- [2606:4700::5efe:10.0.0.1]:443']],
    [
      ['*.example.com', 'example.com'],
      ['- 0.0.0.0:80', '- [::]:80', '- 255.255.255.255:80', '- 224.0.0.1:80'],
    ],
  ])('with %j gives %j', (entries, expected) => {
    check(entries, expected);
  });
});

describe('a decision', () => {
  it('names the entry that allows or denies, and says why none does', () => {
    const list = listOf(
      'example.com',
      '*.example.com',
      '!b.example.com:80',
      'GET https://c.example/v1/',
      '10.0.0.0/8',
    );
    const why = (text: string) => decide(list, requestOf(text));
    expect(why('a.example.com:443')).toEqual({
      verdict: 'allow',
      rule: '*.example.com',
      why: 'the entry "*.example.com" allows it',
    });
    expect(why('b.example.com:80')).toEqual({
      verdict: 'deny',
      rule: '!b.example.com:80',
      why: 'Cannot reach "b.example.com:80": the entry "!b.example.com:80" denies it, expected no such entry in the allow-list',
    });
    expect(why('evil.example:443')).toMatchObject({ rule: null, why: expect.stringContaining('no entry') });
    expect(why('example.com:22').why).toContain('its port is not allowed by the entry "example.com"');
    expect(why('GET https://c.example/v2').why).toContain('its path is not allowed');
    expect(why('POST https://c.example/v1/').why).toContain('its method is not allowed');
    expect(why('c.example:443').why).toContain('requires its scheme, which no one sees in a tunnel');
    expect(why('127.0.0.1:80').why).toBe(
      'Cannot reach "127.0.0.1:80": no entry of the allow-list has this host, expected one such as "127.0.0.1:80"',
    );
    expect(decide(listOf('168.0.0.0/8'), requestOf('168.63.129.16:80')).why).toBe(
      'Cannot reach "168.63.129.16:80": it is the configuration service of Azure machines, expected an entry that names it, such as "168.63.129.16:80"',
    );
  });
});

describe('denyAddress()', () => {
  const request = requestOf('GET https://example.com/x');

  it.each<[string[], string, string | null]>([
    [['example.com'], '93.184.216.34', null],
    [['example.com'], '10.0.0.1', 'a private network'],
    [['example.com', '10.0.0.0/24'], '10.0.0.1', null],
    [['example.com', '10.0.0.0/24:8080'], '10.0.0.1', 'a private network'],
    [['example.com', 'POST 10.0.0.0/24'], '10.0.0.1', 'a private network'],
    [['example.com', '10.0.0.0/24', '!10.0.0.1'], '10.0.0.1', 'the entry "!10.0.0.1" denies it'],
    [['example.com', '!93.184.0.0/16'], '93.184.216.34', 'denies it'],
    [['example.com', '!93.184.0.0/16:80'], '93.184.216.34', null],
    [['example.com', '!93.184.0.0/16'], '64:ff9b::93.184.216.34', 'denies it'],
    [['example.com'], '1.1.1.1', 'the machine itself'],
    [['example.com', '1.0.0.0/8'], '1.1.1.1', 'the machine itself'],
    [['example.com', '1.1.1.1'], '1.1.1.1', null],
  ])('with %j says of %s: %s', (entries, address, expected) => {
    const denial = denyAddress(listOf(...entries), request, addressOf(address), [addressOf('1.1.1.1')]);
    if (expected === null) expect(denial).toBeNull();
    else expect(denial?.why).toMatch(new RegExp(`^Cannot reach "example.com:443" at ".*": .*${expected}`));
  });
});

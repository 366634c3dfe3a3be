import { describe, expect, it } from 'vitest';
import { makeScratch } from './scratch.ts';

const { refusal } = makeScratch();
const SECRET = '[[secret]]\nname = "a"\nvariable = "V"\nfile = "/s"\nhosts = ["b.example"]\n';
const BUDGET = '[[budget]]\nname = "a"\nper = "tenant"\nwindow = "1d"\ncalls = 1\n';

describe('loadConfig() refuses with the line and the column', () => {
  it.each([
    [
      'broken syntax',
      'a = [\n1',
      ':2:2: Cannot read the file: it is not valid TOML (expected comma or end of structure), expected valid TOML',
    ],
    ['a missing value', '[limits]\nwall_ms =\n', ':2:10: Cannot read the file: '],
    ['a table twice', '[limits]\n[limits]', ':2:2: Cannot read the file: '],
    ['a key twice', '[limits]\nfuel = 1\nfuel = 2', ':3:1: Cannot read the file: '],
    [
      'a control character',
      'gateway.tenant = "a\u0007"',
      ':1:20: Cannot read the file: it is not valid TOML (control characters',
    ],
    [
      'NUL',
      '# a\n#\0',
      ':2:2: Cannot read the file: it has a NUL or a second byte order mark, expected text',
    ],
    [
      'two byte order marks',
      '\ufeff\ufefflimits = 1',
      ':1:1: Cannot read the file: it has a NUL or a second byte order mark, expected text',
    ],
    [
      'an unknown section after a byte order mark',
      '\ufefflimit.fuel = 1',
      ':1:1: Cannot use the key "limit"',
    ],
    [
      'an unknown section',
      '\n[limit]\nfuel = 1',
      ':2:2: Cannot use the key "limit": it is unknown, expected a key of palisade.toml (did you mean "limits"?)',
    ],
    [
      'an unknown empty section',
      '[walrus]',
      ':1:2: Cannot use the key "walrus": it is unknown, expected a key of palisade.toml',
    ],
    [
      'an unknown key',
      '[limits]\n  wal_ms = 1',
      ':2:3: Cannot use the key "limits.wal_ms": it is unknown, expected a key of palisade.toml (did you mean "wall_ms"?)',
    ],
    [
      'a key outside its section',
      'busy_timeout_ms = 1',
      ':1:1: Cannot use the key "busy_timeout_ms": it is unknown, expected a key of palisade.toml (did you mean "store.busy_timeout_ms"?)',
    ],
    [
      'an unknown key of a budget',
      `${BUDGET}cals = 2`,
      ':6:1: Cannot use the key "budget[0].cals": it is unknown, expected a key of palisade.toml (did you mean "calls"?)',
    ],
    [
      'an unknown key in an inline table',
      'limits = { fuel = 1, oil = 2 }',
      ':1:22: Cannot use the key "limits.oil"',
    ],
    [
      'an unknown dotted key',
      'limits.fuel.max = 1',
      ':1:19: Cannot use limits.fuel: it is a table, expected an integer',
    ],
    ['__proto__', '[__proto__]\npolluted = 1', ':1:2: Cannot use the key "__proto__"'],
    [
      '__proto__ as a group',
      '[groups]\n__proto__ = []',
      ':2:1: Cannot use the group "__proto__": it is not a valid name',
    ],
    [
      'a float',
      '[limits]\nwall_ms = 1.0',
      ':2:11: Cannot use limits.wall_ms: it is the number 1, expected an integer from 1 to 86400000',
    ],
    ['infinity', 'limits.wall_ms = inf', ':1:18: Cannot use limits.wall_ms: it is the number Infinity'],
    ['zero', 'limits.wall_ms = 0', ':1:18: Cannot use limits.wall_ms: it is 0, expected'],
    ['a negative number', 'limits.wall_ms = -5', ':1:18: Cannot use limits.wall_ms: it is -5, expected'],
    [
      '2^53',
      'limits.fuel = 9007199254740992',
      ':1:15: Cannot use limits.fuel: it is 9007199254740992, expected an integer from 1 to 1000000000000',
    ],
    ['an endless integer', `limits.fuel = ${'9'.repeat(500)}`, ':1:15: Cannot use limits.fuel: it is 999'],
    [
      'a string for a number',
      'limits.fuel = "10"',
      ':1:15: Cannot use limits.fuel: it is "10", expected an integer',
    ],
    ['a date for a number', 'limits.fuel = 1979-05-27', ':1:15: Cannot use limits.fuel: it is a date'],
    ['a boolean for a number', 'limits.fuel = true', ':1:15: Cannot use limits.fuel: it is true'],
    ['a number for a section', 'limits = 1', ':1:10: Cannot use limits: it is 1, expected a table'],
    [
      'a lock of the vault that there is not',
      'vault.key = "plain"',
      ':1:13: Cannot use vault.key: it is "plain", expected one of "file", "passphrase", "keychain"',
    ],
    [
      'a way to trust that is none',
      'skills.first_use = "always"',
      ':1:20: Cannot use skills.first_use: it is "always", expected one of "refuse", "trust"',
    ],
    [
      'a number of days for a duration',
      'skills.reaudit_after = 7',
      ':1:24: Cannot use skills.reaudit_after: it is 7, expected a duration such as "90s", "1m", "1h" or "1d" from "1h" to "366d"',
    ],
    [
      'a time between audits that is too short',
      'skills.reaudit_after = "59m"',
      ':1:24: Cannot use skills.reaudit_after: it is "59m", expected a duration',
    ],
    [
      'advisories that are fetched',
      'skills.advisories = "https://example.com/osv.json"',
      ':1:21: Cannot use skills.advisories: it is "https://example.com/osv.json", expected an absolute path',
    ],
    [
      'nobody who reviews',
      'skills.reviewers = 0',
      ':1:20: Cannot use skills.reviewers: it is 0, expected an integer from 1 to 5',
    ],
    [
      'a passphrase file that is relative',
      'vault.passphrase_file = "passphrase"',
      ':1:25: Cannot use vault.passphrase_file: it is "passphrase", expected an absolute path',
    ],
    [
      'a limit above its ceiling',
      '[limits]\nwall_ms = 3_600_001',
      ':2:11: Cannot use limits.wall_ms: it is 3600001, expected at most its ceiling of 3600000, or a higher ceilings.wall_ms',
    ],
    [
      'a limit above a lowered ceiling',
      'limits.fuel = 11\nceilings.fuel = 10',
      ':1:15: Cannot use limits.fuel: it is 11, expected at most its ceiling of 10',
    ],
    ['too deep inputs', 'input.max_depth = 101', ':1:19: Cannot use input.max_depth'],
    ['too large inputs', 'input.max_bytes = 16777217', ':1:19: Cannot use input.max_bytes'],
    [
      'an uneven segment',
      'journal.segment_records = 257',
      ':1:27: Cannot use journal.segment_records: it is 257, expected a multiple of 256 from 256 to 16777216',
    ],
    [
      'a tenant that is no name',
      'gateway.tenant = "a b"',
      ':1:18: Cannot use gateway.tenant: it is "a b", expected a name',
    ],
    [
      'a pattern with odd characters',
      '[journal]\nredact_env = ["A",\n "B-C"]',
      ':3:2: Cannot use journal.redact_env[1]: it is "B-C", expected a variable name',
    ],
    [
      'a pattern twice',
      'journal.redact_env = ["A", "A"]',
      ':1:28: Cannot use journal.redact_env[1]: "A" occurs twice, expected each element once',
    ],
    ['a list of numbers', 'journal.redact_env = [1]', ':1:23: Cannot use journal.redact_env[0]: it is 1'],
    [
      'a text for a list',
      'journal.redact_env = "A"',
      ':1:22: Cannot use journal.redact_env: it is "A", expected a list of strings',
    ],
    [
      'a member that is no principal',
      '[groups]\nops = ["ada"]',
      ':2:8: Cannot use groups.ops[0]: it is "ada", expected "agent:NAME", "user:NAME" or "service:NAME"',
    ],
    [
      'a group that is no name',
      '[groups]\n"a b" = []',
      ':2:1: Cannot use the group "a b": it is not a valid name',
    ],
    [
      'one budget that is no list',
      '[budget]\nname = "a"',
      ':1:2: Cannot use budget: it is a table, expected tables under [[budget]]',
    ],
    ['a budget that is no table', 'budget = [1]', ':1:11: Cannot use budget[0]: it is 1, expected a table'],
    [
      'a budget without a name',
      '[[budget]]\nper = "run"\ncalls = 1',
      ':1:3: Cannot use budget[0]: it has no name, expected the key name',
    ],
    [
      'a budget of nobody',
      '[[budget]]\nname = "a"\ncalls = 1',
      ':1:3: Cannot use budget[0]: it has no per, expected the key per',
    ],
    [
      'a budget of an unknown kind',
      '[[budget]]\nname = "a"\nper = "runs"',
      ':3:7: Cannot use budget[0].per: it is "runs", expected one of "run", "principal", "tool", "tenant"',
    ],
    [
      'a budget without a window',
      '[[budget]]\nname = "a"\nper = "tool"\ncalls = 1',
      ':1:3: Cannot use budget[0]: it has no window',
    ],
    [
      'a budget of nothing',
      '[[budget]]\nname = "a"\nper = "run"',
      ':1:3: Cannot use budget[0]: it limits nothing, expected at least one of calls',
    ],
    [
      'two budgets of one name',
      `${BUDGET}${BUDGET}`,
      ':7:8: Cannot use budget[1].name: "a" is used twice, expected each name once',
    ],
    [
      'the 65th budget',
      BUDGET.repeat(65),
      ':321:3: Cannot use budget[64]: there are 65, expected at most 64',
    ],
    ['a secret that is no list', '[secret]\nname = "a"', ':1:2: Cannot use secret: it is a table, expected'],
    [
      'two secrets of one name',
      `${SECRET}${SECRET}`,
      ':7:8: Cannot use secret[1].name: "a" is used twice, expected each name once',
    ],
    [
      'the 65th secret',
      SECRET.repeat(65),
      ':321:3: Cannot use secret[64]: there are 65, expected at most 64',
    ],
    [
      'an unknown key of a secret',
      `${SECRET}value = "x"`,
      ':6:1: Cannot use the key "secret[0].value": it is unknown',
    ],
    [
      'a secret for nobody',
      SECRET.replace('["b.example"]', '[]'),
      ':5:9: Cannot use secret[0].hosts: it is empty, expected at least one element',
    ],
    [
      'a secret for one host twice',
      SECRET.replace('"b.example"', '"b.example", "b.example"'),
      ':5:23: Cannot use secret[0].hosts[1]: "b.example" occurs twice',
    ],
    [
      'a secret in a file by a relative path',
      SECRET.replace('"/s"', '"token"'),
      ':4:8: Cannot use secret[0].file: it is "token", expected an absolute path',
    ],
    ['a match with spaces', `${BUDGET}match = "a b"`, ':6:9: Cannot use budget[0].match: it is "a b"'],
  ])('%s', async (_, content, expected) => {
    expect((await refusal(content)).slice(0, 'palisade.toml'.length + expected.length)).toBe(
      `palisade.toml${expected}`,
    );
  });

  it.each(['', '1', 's', '0s', '01s', '-1s', '1.5h', '1 h', '1w', '1ms', '367d', '1h30m', '9999999999s'])(
    'the window "%s"',
    async (window) => {
      const content = `[[budget]]\nname = "a"\nper = "tool"\nwindow = "${window}"\ncalls = 1`;
      expect(await refusal(content)).toContain(
        `palisade.toml:4:10: Cannot use budget[0].window: it is "${window}", expected a duration`,
      );
    },
  );

  const MORE_THAN_A_HOST = [
    ...[
      '',
      '*',
      '!b.example',
      'https://b.example',
      'b.example/v1',
      'GET b.example',
      'GET https://b.example/',
    ],
    ...[
      'user@b.example',
      'b.example:443:80',
      '*b.example',
      'b.*.example',
      'b example',
      ' b.example',
      'b.example\\n',
    ],
    ...['bücher.example', '%62.example', '[b.example]', '-b.example', 'b.example,c.example'],
  ];

  it.each([...MORE_THAN_A_HOST, 'b.example:443', '10.1.2.3', '10.1.2.0/24', '[2001:db8::1]', '0.1.'])(
    'the host "%s" whose TLS would be opened',
    async (host) => {
      expect(await refusal(`[process]\negress_intercept = ["a.example", "${host}"]`)).toMatch(
        /^palisade\.toml:2:34: Cannot use process\.egress_intercept\[1\]: it is .*, expected a host such as/,
      );
    },
  );

  it.each([...MORE_THAN_A_HOST, 'b.example:', 'b.example:https', 'b.example:-1'])(
    'the host "%s" of a secret',
    async (host) => {
      expect(await refusal(SECRET.replace('"b.example"', `"a.example:1", "${host}"`))).toMatch(
        /^palisade\.toml:5:25: Cannot use secret\[0\]\.hosts\[1\]: it is .*, expected a host such as/,
      );
    },
  );

  it.each(['', '1A', 'A-B', 'A=B', 'A B', 'PATH', 'Home', 'TMPDIR', 'LANG', 'HTTPS_PROXY', 'all_proxy', 'Ä'])(
    'the variable "%s" of a secret',
    async (variable) => {
      expect(await refusal(SECRET.replace('"V"', `"${variable}"`))).toContain(
        `palisade.toml:3:12: Cannot use secret[0].variable: it is "${variable}", expected a variable name`,
      );
    },
  );

  it('bytes that are not UTF-8', async () => {
    expect(await refusal(Uint8Array.from([0x23, 0x0a, 0x23, 0xff]))).toBe(
      'palisade.toml:2:2: Cannot read the file: it has bytes that are not UTF-8, expected UTF-8',
    );
  });
});

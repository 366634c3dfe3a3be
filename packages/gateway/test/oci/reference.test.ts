import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatReference, parseReference, parseRegistry } from '../../src/oci/reference.ts';

const DIGEST = `sha256:${'a1'.repeat(32)}`;

function read(raw: string) {
  const parsed = parseReference(raw);
  return parsed.ok ? parsed.value : null;
}

describe('parseReference()', () => {
  test.each([
    ['registry.example.com/acme/text:1.0.0', 'registry.example.com', 'acme/text', '1.0.0', null],
    ['oci://registry.example.com/acme/text:1.0.0', 'registry.example.com', 'acme/text', '1.0.0', null],
    ['localhost:5000/text', 'localhost:5000', 'text', null, null],
    ['LOCALHOST:5000/text', 'localhost:5000', 'text', null, null],
    ['[::1]:5000/a/b/c:latest', '[::1]:5000', 'a/b/c', 'latest', null],
    [`ghcr.io/acme/text@${DIGEST}`, 'ghcr.io', 'acme/text', null, DIGEST],
    [`ghcr.io/acme/text:v1@${DIGEST}`, 'ghcr.io', 'acme/text', 'v1', DIGEST],
    ['a.example:443/a__b/c-d.e:1.0.0_build', 'a.example:443', 'a__b/c-d.e', '1.0.0_build', null],
  ])('reads %s', (raw, host, name, tag, digest) => {
    expect(read(raw)).toMatchObject({ registry: { text: host }, name, tag, digest });
  });

  test.each([
    ['text', 'it has no name after the host'],
    ['acme/text:1', 'it does not look like a host'],
    ['acme./text:1', 'it does not look like a host'],
    ['registry.example.com/Acme/text', 'is not a valid name'],
    ['registry.example.com/', 'is not a valid name'],
    ['registry.example.com/../../etc/passwd', 'is not a valid name'],
    ['registry.example.com/a//b', 'is not a valid name'],
    ['registry.example.com/a/b:', 'is not a valid tag'],
    ['registry.example.com/a/b:../../x', 'is not a valid tag'],
    [`registry.example.com/a/b:${'t'.repeat(129)}`, 'is not a valid tag'],
    ['registry.example.com/a@sha512:00', 'is not a digest that can be checked'],
    [`registry.example.com/a@${DIGEST}@${DIGEST}`, 'more than one "@"'],
    ['https://registry.example.com/a:1', 'it has a scheme'],
    ['user:pass@registry.example.com/a:1', 'a user name'],
    ['registry.example.com:99999/a:1', 'not a port'],
    [`registry.example.com/${'a'.repeat(600)}`, 'it has 621 characters'],
    ['registry.example.com/a\u001b[2J:1', 'is not a valid name'],
  ])('refuses %j and says why', (raw, why) => {
    const parsed = parseReference(raw);
    expect(parsed.ok ? 'accepted' : parsed.problem.is).toContain(why);
  });

  test('never throws, and what it accepts has one spelling that is safe in a path and on a terminal', () => {
    const parts = fc.constantFrom(
      'a',
      'Z',
      '0',
      '.',
      '_',
      '-',
      '/',
      ':',
      '@',
      'localhost',
      'sha256:',
      '..',
      '\u001b',
      '%',
      ' ',
    );
    const texts = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.array(parts, { maxLength: 30 }).map((each) => each.join('')),
      fc.array(parts, { maxLength: 12 }).map((each) => `h.example/${each.join('')}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const reference = read(text);
        if (reference === null) return;
        expect(`/v2/${reference.name}/manifests/${reference.tag}`).not.toMatch(/\.\.\/|\/\.\.|\/\/|[^!-~]/);
        const again = read(formatReference(reference));
        expect(again && formatReference(again)).toBe(formatReference(reference));
      }),
      { numRuns: 2_000 },
    );
  });

  test('reads back every reference that can be formatted', () => {
    const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);
    const name = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join('/'));
    const tag = fc.option(fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,20}$/));
    const digest = fc.option(fc.stringMatching(/^[0-9a-f]{64}$/).map((hex) => `sha256:${hex}`));
    fc.assert(
      fc.property(name, tag, digest, fc.integer({ min: 1, max: 65_535 }), (path, mark, sum, port) => {
        const text = `r.example:${port}/${path}${mark === null ? '' : `:${mark}`}${sum === null ? '' : `@${sum}`}`;
        const reference = read(text);
        expect(reference && formatReference(reference)).toBe(text);
      }),
    );
  });
});

describe('parseRegistry()', () => {
  test('a word without a dot or a port is not taken for a host', () => {
    expect(parseRegistry('docker').ok).toBe(false);
    expect(parseRegistry('docker.io').ok).toBe(true);
    expect(parseRegistry('docker:5000').ok).toBe(true);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toolIdIn, toolName } from '../../../src/doors/mcp/tool-name.ts';

const ACCEPTED = /^[A-Za-z0-9_-]{1,64}$/;

/** Ids made of few different parts, so that different ids often look alike. */
const ids = fc
  .array(
    fc.constantFrom(
      'a',
      'b',
      '_',
      '__',
      '.',
      '-',
      '/',
      'palisade',
      'palisade.',
      '__0123456789ab',
      'x'.repeat(20),
    ),
    { minLength: 1, maxLength: 8 },
  )
  .map((parts) => parts.join(''));

describe('toolName', () => {
  it.each([
    ['palisade.process.run', 'palisade_process_run'],
    ['palisade.echo', 'palisade_echo'],
    ['read_file', 'read_file'],
    ['files.read_file', 'files__read_file'],
    ['acme.text.count', 'acme__text__count'],
    ['my-files.list', 'my-files__list'],
  ])('%s is called %s', (id, name) => {
    expect(toolName(id)).toBe(name);
    expect(toolIdIn(name)).toBe(id);
  });

  it.each([
    ['longer than 64 characters', `files.${'x'.repeat(80)}`],
    ['with the separator in its own name', 'files__read_file'],
    ['with "_" before a dot', 'files_.read'],
    ['that reads as one of ours', 'palisade_echo'],
    ['with a slash', 'files/read'],
    ['that ends as if with a digest', 'files.0123456789ab'],
  ])('gives an id %s a name with its digest', (_, id) => {
    expect(toolName(id)).toMatch(/^[A-Za-z0-9_-]{0,50}__[0-9a-v]{12}$/);
  });

  it('never changes: clients keep names in their settings', () => {
    expect(toolName('files_.read')).toBe('files___read__rrb7fb8od1eo');
    expect(toolName(`files.${'x'.repeat(80)}`)).toBe(`files__${'x'.repeat(43)}__v82pv0hgvrod`);
  });

  it('is accepted by every provider, whatever the id', () => {
    fc.assert(fc.property(fc.oneof(ids, fc.string()), (id) => ACCEPTED.test(toolName(id))));
  });

  it('is the name of one id only', () => {
    fc.assert(
      fc.property(ids, ids, (a, b) => a === b || toolName(a) !== toolName(b)),
      { numRuns: 5_000 },
    );
  });
});

describe('toolIdIn', () => {
  it('returns the id of every plain name, and an id with dots as it is', () => {
    fc.assert(
      fc.property(ids, (id) => {
        const name = toolName(id);
        expect([id, name]).toContain(toolIdIn(name));
        if (id.includes('.')) expect(toolIdIn(id)).toBe(id);
      }),
    );
  });
});

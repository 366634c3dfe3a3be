import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { formatScope, parseScope } from '../../src/vault/secret.ts';

describe('parseScope()', () => {
  it.each([
    ['global', 'global', ''],
    ['tenant:acme', 'tenant', 'acme'],
    ['principal:agent:ada', 'principal', 'agent:ada'],
    ['principal:service:ci', 'principal', 'service:ci'],
    ['skill:publisher/tool-1.2', 'skill', 'publisher/tool-1.2'],
  ])('reads "%s"', (text, kind, subject) => {
    expect(parseScope(text)).toEqual({ kind, subject });
  });

  it.each([
    ...['', 'Global', 'global:', 'global:x', 'tenant', 'tenant:', 'tenant:a b', 'tenant:a:b', 'tenant:a\n'],
    ...[
      'principal:ada',
      'principal:root:ada',
      'principal:agent:',
      'skill:',
      'skill:../x',
      'run:1',
      ' global',
    ],
  ])('refuses "%s"', (text) => {
    expect(parseScope(text)).toBeNull();
  });

  it('reads every scope back as it was written, and no text as two scopes', () => {
    const kind = fc.constantFrom('global', 'tenant:', 'principal:agent:', 'principal:', 'skill:', '');
    const text = fc.tuple(kind, fc.string({ maxLength: 20 })).map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (raw) => {
        const scope = parseScope(raw);
        expect(scope === null ? raw : formatScope(scope)).toBe(raw);
      }),
      { numRuns: volume(1000, 30) },
    );
  });
});

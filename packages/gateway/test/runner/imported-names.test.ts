import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { importedNames } from '../../src/runner/imported-names.ts';

const directory = mkdtempSync(join(tmpdir(), 'palisade-imports-'));
const path = join(directory, 'program');
const find = readFileSync('/usr/bin/find');
afterAll(() => rmSync(directory, { recursive: true }));

describe('importedNames()', () => {
  it('has what a program takes from its libraries, and nothing else', () => {
    expect(importedNames('/usr/bin/find')).toContain('execvp');
    expect(importedNames('/usr/bin/cat')).toContain('read');
    expect(importedNames('/usr/bin/cat')).not.toContain('execvp');
  });

  it('knows nothing of a file that is missing, a link or not a program', () => {
    writeFileSync(path, '#!/bin/sh\n');
    expect(importedNames(path)).toBe(null);
    expect(importedNames(join(directory, 'missing'))).toBe(null);
    expect(importedNames(directory)).toBe(null);
  });

  it('knows nothing of a program that was cut off', () => {
    writeFileSync(path, find);
    expect(importedNames(path)).toContain('execvp');
    truncateSync(path, find.length - 1);
    expect(importedNames(path)).toBe(null);
  });

  it('ends on any change of the first header without an error', () => {
    fc.assert(
      fc.property(fc.nat(63), fc.nat(255), (at, byte) => {
        const changed = Buffer.from(find);
        changed[at] = byte;
        writeFileSync(path, changed);
        const names = importedNames(path);
        expect(names === null || names.size > 0).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { volume } from '../../../../tests/volume/volume.ts';
import { readLine, UNKNOWN } from '../../src/runner/shell-line.ts';

type Row = readonly [line: string, commands: readonly (readonly [words: string, files?: string])[]];

/** The words of each command and the files of its redirections, separated by spaces. */
const ROWS: readonly Row[] = [
  ['a b  c', [['a b c']]],
  ['a; b & c | d && e || f', [['a'], ['b'], ['c'], ['d'], ['e'], ['f']]],
  ['a 2>/dev/null | head', [['a', '/dev/null'], ['head']]],
  ['a >/dev/null 2>&1', [['a', '/dev/null']]],
  ['a &> x 3<&- >&2 >&y', [['a', 'x y']]],
  ['a 2', [['a 2']]],
  ['a <<< "x /etc" b', [['a b']]],
  ['x=/a y+=/b cmd z=/c', [['cmd z=/c']]],
  ['x=$(b c)', [['b c']]],
  ['a "$(b "c")" `d`', [['b c'], ['d'], [`a ${UNKNOWN} ${UNKNOWN}`]]],
  ['a <(b) >(c)', [['b'], ['c'], [`a ${UNKNOWN} ${UNKNOWN}`]]],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what a shell would expand.
  ['a $HOME/x "${HOME}y" \'$HOME\' $no ${no:-/etc}', [[`a /h/x /hy $HOME ${UNKNOWN} ${UNKNOWN}`]]],
  ['a $((1 / 2)) b', [[`a ${UNKNOWN} b`]]],
  ['if a; then b; else c; fi', [['a'], ['b'], ['c']]],
  ['for x in a b; do c; done', [['for x in a b'], ['c']]],
  ['case $1 in /*) a;; b|c) d ;& *) e;; esac; f', [['a'], ['d'], ['e'], ['f']]],
  ['[[ $a == /* && ( -f x || $b < c ) ]] && d', [[`[[ ${UNKNOWN} == /* -f x ${UNKNOWN} c`], ['d']]],
  ['a # b; c', [['a']]],
  ['a#b', [['a#b']]],
  ['a \\\n b', [['a b']]],
  ['cat <<EOF > x\nb; c\nEOF\nd', [['cat', 'x'], ['d']]],
  ['a <<-X <<Y\n\tb\n\tX\nc\nY\nd', [['a'], ['d']]],
  ['(a; b) > c', [['a'], ['b'], ['', 'c']]],
  ['{ a; }; ! b', [['a'], ['b']]],
];

describe('readLine()', () => {
  it.each(ROWS)('reads %j', (line, commands) => {
    const { commands: read, isComplete } = readLine(line, { HOME: '/h' });
    expect(read.map(({ words, files }) => [words.join(' '), files.join(' ')])).toEqual(
      commands.map(([words, files = '']) => [words, files]),
    );
    expect(isComplete).toBe(true);
  });

  it('cuts words where a shell does, whatever is quoted', () => {
    const piece = fc.constantFrom(
      'a',
      ' ',
      "'b c'",
      '"d e"',
      '\\ ',
      "\\'",
      '"\\"f"',
      '"g\\h"',
      "''",
      '\\\\',
      '"\'"',
      'é',
      '=',
    );
    const line = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''));
    const lines = fc.sample(line, volume(2_000, 200));
    // One shell for all of them: each line prints its words, and an empty one ends it.
    const script = lines.map((each) => `printf '%s\\0' . ${each} ; printf '\\n\\0'`).join('\n');
    const { stdout } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8', maxBuffer: 2 ** 26 });
    const printed = stdout
      .split('\n\0')
      .slice(0, -1)
      .map((part) => part.split('\0').slice(0, -1));
    const read = lines.map((each) => readLine(`. ${each}`).commands[0]?.words);
    expect(read).toEqual(printed);
  });

  it('ends on any text, and says where it is nested too deeply', () => {
    const sign = fc.constantFrom(
      ...'$("`\'){}[]<>&|;#\\\n =a/'.split(''),
      'case x in ',
      'esac',
      '<<E',
      '${',
      '$((',
    );
    fc.assert(
      fc.property(fc.string({ unit: sign, maxLength: 200 }), (line) => {
        expect(readLine(line).commands.length).toBeLessThanOrEqual(line.length);
      }),
      { numRuns: volume(2_000, 200) },
    );
    expect(readLine('$('.repeat(1_000)).isComplete).toBe(false);
  });
});

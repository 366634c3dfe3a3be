import { type CallLog, trapInWords } from '../../core/call-log.ts';
import { quote } from '../../core/hostile-text.ts';

/** The log of a call as lines for people; every text in it was made safe when it was kept. */
export function linesOfLog({ lines, isCut, denied, deniedMore, trap }: CallLog): readonly string[] {
  const where = trapInWords(trap);
  const denials = denied.flatMap(({ function: name, argument, sentence, remedy, times }) => [
    `denied: ${name}${argument === null ? '' : ` ${quote(argument)}`}: ${sentence}${times > 1 ? ` (${times} times)` : ''}`,
    `  → ${remedy}`,
  ]);
  return [
    ...lines.map(({ level, text }) => `${level}: ${text}`),
    ...(isCut ? ['… and more lines, which are not kept'] : []),
    ...denials,
    ...(deniedMore > 0 ? [`denied: ${deniedMore} more`] : []),
    ...(where === '' ? [] : [`trapped ${where}`]),
  ];
}

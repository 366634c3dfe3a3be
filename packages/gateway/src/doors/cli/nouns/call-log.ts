import { operationVerb } from '../operate.ts';
import { linesOfLog } from '../print-log.ts';

/** `palisade log`: what the guest of an ended call logged, was denied, and where it trapped. */
export const log = operationVerb(
  'getCallLog',
  ({ args: [id] }) => ({ id }),
  ({ callId, tool, code, message, ...log }, { print }) => {
    const lines = linesOfLog(log);
    for (const line of lines) print.line(line);
    if (lines.length === 0) print.line('It logged nothing, and no host call was denied.');
    print.note(code, code === 'ok' ? 'green' : 'red', `  ${callId}  ${tool}`);
    if (code !== 'ok') print.note(message);
  },
);

import { CodedError } from '../../../core/coded-error.ts';
import type { ResultOf } from '../../../operations/operate.ts';
import { numberOf, textOf } from '../input.ts';
import { withGateway } from '../opened.ts';
import { operateOn, operationVerb } from '../operate.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

/** The tools that may be called, those of installed skills included, a page at a time. */
export const list = operationVerb(
  'listTools',
  (invocation) => {
    const limit = numberOf(invocation, 'limit', { min: 1, max: 1_000, absent: 100 });
    return { limit, cursor: textOf(invocation, 'after') };
  },
  ({ tools, cursor }, { print }) => {
    print.table(
      ['TOOL', 'RISK', 'TIER', 'WHAT IT DOES'],
      tools.map(({ id, risk, tier, description }) => [id, risk, tier, description]),
    );
    print.more('palisade tools list --after', cursor);
  },
);

export async function show(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [id = ''] = args;
  return withGateway(invocation, async (gateway) => {
    const found = gateway.registry.look(id);
    // The operator learns why a tool cannot be called; for others it would not exist.
    if (found !== undefined && 'refused' in found) {
      const { code, message, remedy } = found.refused;
      throw new CodedError(code, message.replace('Cannot call', 'Cannot show'), { remedy });
    }
    const tool = await operateOn(invocation, gateway, 'getTool', { id });
    return print.result(tool, () => printTool(print, tool));
  });
}

function printTool(print: Printer, tool: ResultOf<'getTool'>): void {
  const { id, description, category, risk, tier, capabilities, limits, skill } = tool;
  print.styled('bold', id, `  ${description}`);
  print.line(
    `risk ${risk}, tier ${tier}, category ${category}, capabilities ${capabilities.join(', ') || 'none'}`,
  );
  if (skill !== undefined)
    print.line(`of skill ${skill.id}@${skill.version} by ${skill.publisher}, trusted by ${skill.trust}`);
  const terms = Object.entries(limits).map(([term, value]) => `${term} ${value}`);
  print.line(`limits ${terms.join(', ')}`);
  print.value(tool.inputSchema, 'input  ');
  print.value(tool.outputSchema, 'output ');
}

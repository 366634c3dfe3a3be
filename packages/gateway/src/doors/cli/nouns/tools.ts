import { CodedError } from '../../../core/coded-error.ts';
import type { Tool } from '../../../core/tool.ts';
import { toolDocument, toolRow } from '../../documents/tool.ts';
import { numberOf, textOf } from '../input.ts';
import { withGateway } from '../opened.ts';
import type { Printer } from '../printer.ts';
import type { Invocation } from '../verb.ts';

const MOST = 1_000;
const PAGE = 100;

/** The tools that may be called, those of installed skills included, a page at a time. */
export async function list(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: MOST, absent: PAGE });
  return withGateway(invocation, ({ registry }) => {
    const tools = registry.page(textOf(invocation, 'after') ?? null, limit).map(toolRow);
    const cursor = tools.length < limit ? null : (tools.at(-1)?.id ?? null);
    return print.result({ tools, cursor }, () => {
      print.table(
        ['TOOL', 'RISK', 'TIER', 'WHAT IT DOES'],
        tools.map(({ id, risk, tier, description }) => [id, risk, tier, description]),
      );
      if (cursor !== null) print.note(`More: palisade tools list --after ${cursor}`);
    });
  });
}

export async function show(invocation: Invocation): Promise<number> {
  const { args, print } = invocation;
  const [wanted = ''] = args;
  return withGateway(invocation, ({ registry }) => {
    const found = registry.look(wanted);
    if (found === undefined)
      throw new CodedError('registry/unknown-tool', `Cannot show "${wanted}": no such tool`);
    if ('tool' in found) return print.result(toolDocument(found.tool), () => printTool(print, found.tool));
    const { code, message, remedy } = found.refused;
    throw new CodedError(code, message.replace('Cannot call', 'Cannot show'), { remedy });
  });
}

function printTool(print: Printer, tool: Tool): void {
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

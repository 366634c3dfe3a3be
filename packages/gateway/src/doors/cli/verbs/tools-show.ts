import { CodedError } from '../../../core/coded-error.ts';
import type { Tool } from '../../../core/tool.ts';
import { toolDocument } from '../../../operations/tools.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [wanted = ''] = invocation.args;
  const gateway = await invocation.openGateway();
  try {
    const found = gateway.registry.look(wanted);
    if (found === undefined)
      throw new CodedError('registry/unknown-tool', `Cannot show "${wanted}": no such tool`);
    if ('tool' in found) return show(invocation, found.tool);
    const { code, message, remedy } = found.refused;
    throw new CodedError(code, message.replace('Cannot call', 'Cannot show'), { remedy });
  } finally {
    await gateway.close();
  }
}

function show({ print }: Invocation, tool: Tool): number {
  const { id, description, category, risk, tier, capabilities, limits, inputSchema, outputSchema, skill } =
    tool;
  if (print.json) {
    print.document(toolDocument(tool));
    return 0;
  }
  print.styled('bold', id, `  ${description}`);
  print.line(
    `risk ${risk}, tier ${tier}, category ${category}, capabilities ${capabilities.join(', ') || 'none'}`,
  );
  if (skill !== undefined)
    print.line(`of skill ${skill.id}@${skill.version} by ${skill.publisher}, trusted by ${skill.trust}`);
  print.line(
    `limits ${Object.entries(limits)
      .map(([term, value]) => `${term} ${value}`)
      .join(', ')}`,
  );
  print.value(inputSchema, 'input  ');
  print.value(outputSchema, 'output ');
  return 0;
}

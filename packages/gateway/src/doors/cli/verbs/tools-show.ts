import { CodedError } from '../../../core/coded-error.ts';
import { BUILTIN_TOOLS } from '../../../registry/builtin.table.ts';
import type { Invocation } from '../verb.ts';

export async function run({ args, print }: Invocation): Promise<number> {
  const [wanted = ''] = args;
  const tool = BUILTIN_TOOLS.find(({ id }) => id === wanted);
  if (tool === undefined)
    throw new CodedError('registry/unknown-tool', `Cannot show "${wanted}": no such tool`);
  const { id, description, category, risk, tier, capabilities, limits, inputSchema, outputSchema } = tool;
  if (print.json) {
    print.document({
      id,
      description,
      category,
      risk,
      tier,
      capabilities,
      limits,
      inputSchema,
      outputSchema,
    });
    return 0;
  }
  print.styled('bold', id, `  ${description}`);
  print.line(
    `risk ${risk}, tier ${tier}, category ${category}, capabilities ${capabilities.join(', ') || 'none'}`,
  );
  print.line(
    `limits ${Object.entries(limits)
      .map(([term, value]) => `${term} ${value}`)
      .join(', ')}`,
  );
  print.value(inputSchema, 'input  ');
  print.value(outputSchema, 'output ');
  return 0;
}

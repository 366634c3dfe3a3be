import type { Tool } from '../../core/tool.ts';

export type ToolRow = Pick<Tool, 'id' | 'description' | 'risk' | 'tier'>;

/** A tool in a list of many. */
export function toolRow({ id, description, risk, tier }: Tool): ToolRow {
  return { id, description, risk, tier };
}

/** All that may be known of a tool by whoever may call it. */
export function toolDocument(tool: Tool) {
  const { id, description, category, risk, tier, capabilities, limits, inputSchema, outputSchema } = tool;
  const { title, annotations, skill, artifacts } = tool;
  return {
    ...{ id, description, category, risk, tier, capabilities, limits, inputSchema, outputSchema, artifacts },
    ...(skill === undefined ? {} : { skill }),
    ...(title === undefined ? {} : { title }),
    ...(annotations === undefined ? {} : { annotations }),
  };
}

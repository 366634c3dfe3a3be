import { expect, test } from 'vitest';
import { component, ECHO, skillImport } from '../fixtures/components/guest.ts';
import { standingModules } from '../fixtures/modules/index.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

const { call } = standingModules(() => ({
  tools: [
    moduleTool('test.echo', component(ECHO)),
    moduleTool('test.logs', component(({bytes}) => `(call $log_write (i32.const 1) ${bytes('hello')}) ${ECHO}`, { imports: [skillImport('log.write')] }), { grants: { log: true}}),
    moduleTool('test.poll', component(`(i32.store (i32.const 512) (i32.const 4)) (call $poll (i32.const 512) (i32.const 1) (i32.const 600)) ${ECHO}`, { imports: [{as:'poll',interface:'wasi:io/poll@0.2.3',name:'poll'}] })),
    moduleTool('test.write', component(({bytes}) => `(call $write (call $out) ${bytes('hello')} (i32.const 600)) ${ECHO}`, { imports: [
{as:'describe',interface:'wasi:io/error@0.2.3',name:'[method]error.to-debug-string'},
{as:'write',interface:'wasi:io/streams@0.2.3',name:'[method]output-stream.write'}, {as:'out',interface:'wasi:cli/stdout@0.2.3',name:'get-stdout'}] }), { grants: { log: true}}),
  ],
}));
test('x', async () => {
  for (const t of ['echo','logs','poll','write']) console.log(JSON.stringify(await call('test.'+t, { a: 1 })));
});

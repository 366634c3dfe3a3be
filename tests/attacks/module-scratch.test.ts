import { expect, test } from 'vitest';
import { execFileSync } from 'node:child_process';
import { openModules } from '../fixtures/modules/index.ts';
import { engines } from '../fixtures/modules/engines.ts';
import { ECHO, guest, listOf } from '../fixtures/modules/guest.ts';
import { moduleTool } from '../fixtures/modules/tool.ts';

test('x', async () => {
  const t0 = performance.now();
  const { call } = await openModules({ config: '[limits]\nfuel = 100000000\n', tools: [
    moduleTool('test.echo', guest(ECHO)),
    moduleTool('test.list', guest(listOf('(i32.const -2147483648)', '(i32.const 0)', '(i32.const 123456)'))),
    moduleTool('test.fuel', guest(ECHO), { limits: { fuel: 50_000_000 } }),
    moduleTool('test.big', guest(ECHO, { memory: '8' })),
  ] });
  console.log('open', performance.now() - t0);
  console.log(JSON.stringify(await call('test.echo', { a: 1 })));
  console.log('first', performance.now() - t0);
  console.log(JSON.stringify(await call('test.list')));
  console.log(JSON.stringify(await call('test.fuel')));
  console.log(engines());
  console.log(execFileSync('ps', ['axfo', 'pid,ppid,rss,args']).toString().split('\n').filter((l) => /engine|bwrap|launcher/.test(l)).map(l=>l.slice(0,200)).join('\n'));
  const codes: Record<string, number> = {};
  for (let i = 0; i < 150; i++) { const { code, message } = await call('test.big', {}, { tenant: `t${i}` }); codes[code + message] = (codes[code + message] ?? 0) + 1; }
  console.log(codes, performance.now() - t0);
  console.log(engines());
});

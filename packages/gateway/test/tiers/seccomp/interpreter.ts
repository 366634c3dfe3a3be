/** A machine for classic BPF, written from the kernel's rules and knowing nothing of the assembler. */

export type Call = { readonly arch: number; readonly number: number; readonly args: readonly bigint[] };

export const X64 = 0xc000003e;
export const ARM64 = 0xc00000b7;

/** How a call ends under a program, and how many instructions it took. */
export type Decision = { readonly answer: string; readonly steps: number };

/** Runs a program over a call as the kernel would; anything that the kernel would refuse to load throws. */
export function run(program: Uint8Array, call: Call): Decision {
  if (program.length % 8 !== 0) throw new Error('half an instruction');
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const data = seccompData(call);
  let accumulator = 0;
  let at = 0;
  for (let steps = 1; ; steps += 1) {
    if (at * 8 >= program.length) throw new Error(`ran out of the program at ${at}`);
    const k = code.getUint32(at * 8 + 4, true);
    const [yes, no] = [code.getUint8(at * 8 + 2), code.getUint8(at * 8 + 3)];
    const choose = (taken: boolean) => at + 1 + (taken ? yes : no);
    switch (code.getUint16(at * 8, true)) {
      case 0x20:
        if (k % 4 !== 0) throw new Error(`load from ${k}`);
        accumulator = data.getUint32(k, true);
        at += 1;
        break;
      case 0x54:
        accumulator = (accumulator & k) >>> 0;
        at += 1;
        break;
      case 0x15:
        at = choose(accumulator === k);
        break;
      case 0x35:
        at = choose(accumulator >= k);
        break;
      case 0x45:
        at = choose((accumulator & k) !== 0);
        break;
      case 0x06:
        return { answer: name(k), steps };
      default:
        throw new Error(`unknown instruction at ${at}`);
    }
  }
}

function seccompData({ arch, number, args }: Call): DataView {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, number, true);
  data.setUint32(4, arch, true);
  data.setBigUint64(8, 0x7f00_dead_beef_0000n, true);
  for (const [index, value] of args.entries())
    data.setBigUint64(16 + 8 * index, BigInt.asUintN(64, value), true);
  return data;
}

function name(value: number): string {
  const known: Record<number, string> = {
    2147418112: 'allow',
    2147483648: 'kill',
    327681: 'EPERM',
    327718: 'ENOSYS',
  };
  const answer = known[value];
  if (answer === undefined) throw new Error(`unknown answer ${value.toString(16)}`);
  return answer;
}

#include "kernel.h"

/* A stack machine with a switch in a loop runs a small program: collatz lengths of the numbers below n. */

enum { PUSH, ADD, MULTIPLY, SUBTRACT, SHIFT, AND, LOAD, STORE, LESS, JUMP, JUMP_ZERO, DUPLICATE, DROP, EQUAL, CALL, RETURN, STOP };

/* Cells: 0 limit, 1 number, 2 current, 3 steps, 4 sum. */
static const int PROGRAM[] = {
    PUSH, 1, STORE, 1,
    /* 4: the next number, or the end */
    LOAD, 1, LOAD, 0, LESS, JUMP_ZERO, 47,
    LOAD, 1, STORE, 2, PUSH, 0, STORE, 3, CALL, 48,
    /* 21: sum = sum * 31 + steps */
    LOAD, 4, PUSH, 31, MULTIPLY, LOAD, 3, ADD, STORE, 4,
    LOAD, 1, PUSH, 1, ADD, DUPLICATE, DROP, STORE, 1, JUMP, 4, STOP, STOP, STOP, STOP, STOP,
    /* 47 */
    STOP,
    /* 48: until the current one is 1 */
    LOAD, 2, PUSH, 1, EQUAL, JUMP_ZERO, 56, RETURN,
    /* 56 */
    LOAD, 3, PUSH, 1, ADD, STORE, 3, LOAD, 2, PUSH, 1, AND, JUMP_ZERO, 82,
    LOAD, 2, PUSH, 3, MULTIPLY, PUSH, 1, ADD, STORE, 2, JUMP, 48,
    /* 82 */
    LOAD, 2, PUSH, 1, SHIFT, STORE, 2, JUMP, 48,
};

static u32 stack[64], cells[8], frames[16];

static CALLED u32 execute(const int *code) {
  u32 *top = stack;
  u32 *frame = frames;
  for (const int *pc = code;;) {
    switch (*pc++) {
      case PUSH: *top++ = (u32)*pc++; break;
      case ADD: top--; top[-1] += top[0]; break;
      case MULTIPLY: top--; top[-1] *= top[0]; break;
      case SUBTRACT: top--; top[-1] -= top[0]; break;
      case SHIFT: top--; top[-1] >>= top[0]; break;
      case AND: top--; top[-1] &= top[0]; break;
      case LOAD: *top++ = cells[*pc++]; break;
      case STORE: cells[*pc++] = *--top; break;
      case LESS: top--; top[-1] = top[-1] < top[0]; break;
      case EQUAL: top--; top[-1] = top[-1] == top[0]; break;
      case JUMP: pc = code + *pc; break;
      case JUMP_ZERO: pc = *--top ? pc + 1 : code + *pc; break;
      case DUPLICATE: *top = top[-1]; top++; break;
      case DROP: top--; break;
      case CALL: *frame++ = (u32)(pc + 1 - code); pc = code + *pc; break;
      case RETURN: pc = code + *--frame; break;
      default: return cells[4];
    }
  }
}

EXPORT u32 run(u32 n) {
  for (int i = 0; i < 8; i++) cells[i] = 0;
  cells[0] = n;
  return execute(PROGRAM);
}

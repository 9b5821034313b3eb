"""The kernels of the timer, in PTX: what the driver compiles for whichever device there is."""

from __future__ import annotations

# PTX ISA: %clock64 counts the SM's cycles, %globaltimer nanoseconds. The latter moves in steps, of up to a
# microsecond on some devices, so the probe begins and ends at a step.
#
# The blocking kernel: of each block one warp looks at the time and sleeps, and the others wait for it at a
# barrier, so that all take up room and none draws power. A nanosleep lasts up to twice what it is asked for.
# The last 8 µs are waited in short ones, so that blocks that began together end together.
#
# The flush begins once all its blocks are there, which count themselves in. They take every place, so no
# kernel of another stream is left on the device, and none starts before they end. The count goes on from one
# launch to the next, in a graph too. After 5 ms a block waits no longer, so no endless kernel stops it.
PTX = b"""\
.version 7.0
.target sm_75
.address_size 64

.visible .entry bundler_block(.param .u64 span)
.maxntid 512, 1, 1
{
  .reg .pred %p; .reg .b32 %thread; .reg .b64 %start, %now, %span;
  ld.param.u64 %span, [span];
  mov.u32 %thread, %tid.x;
  setp.ge.u32 %p, %thread, 32;
  @%p bra over;
  mov.u64 %start, %globaltimer;
far:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  add.u64 %now, %now, 8000;
  setp.ge.u64 %p, %now, %span;
  @%p bra near;
  nanosleep.u32 2000;
  bra far;
near:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.ge.u64 %p, %now, %span;
  @%p bra over;
  nanosleep.u32 100;
  bra near;
over:
  bar.sync 0;
  ret;
}

.visible .entry bundler_flush(.param .u64 at, .param .u64 bytes, .param .u64 gate)
.maxntid 512, 1, 1
{
  .reg .pred %p; .reg .b32 %thread, %size, %blocks, %zero;
  .reg .b64 %at, %end, %step, %gate, %all, %full, %now, %start;
  ld.param.u64 %at, [at];
  ld.param.u64 %end, [bytes];
  ld.param.u64 %gate, [gate];
  cvta.to.global.u64 %at, %at;
  cvta.to.global.u64 %gate, %gate;
  add.u64 %end, %at, %end;
  mov.u32 %thread, %tid.x;
  mov.u32 %size, %ntid.x;
  mov.u32 %blocks, %nctaid.x;
  setp.ne.u32 %p, %thread, 0;
  @%p bra together;
  cvt.u64.u32 %all, %blocks;
  atom.global.add.u64 %full, [%gate], 1;
  div.u64 %full, %full, %all;
  add.u64 %full, %full, 1;
  mul.lo.u64 %full, %full, %all;
  mov.u64 %start, %globaltimer;
wait:
  ld.volatile.global.u64 %now, [%gate];
  setp.ge.u64 %p, %now, %full;
  @%p bra together;
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %start;
  setp.lt.u64 %p, %now, 5000000;
  @%p bra wait;
together:
  bar.sync 0;
  mul.lo.u32 %blocks, %blocks, %size;
  mul.wide.u32 %step, %blocks, 16;
  mov.u32 %blocks, %ctaid.x;
  mad.lo.u32 %thread, %blocks, %size, %thread;
  mad.wide.u32 %at, %thread, 16, %at;
  mov.u32 %zero, 0;
again:
  setp.ge.u64 %p, %at, %end;
  @%p bra over;
  st.global.v4.u32 [%at], {%zero, %zero, %zero, %zero};
  add.u64 %at, %at, %step;
  bra again;
over:
  ret;
}

.visible .entry bundler_probe(.param .u64 out, .param .u64 span)
{
  .reg .pred %p; .reg .b64 %out, %span, %start, %now, %cycles, %end;
  ld.param.u64 %out, [out];
  ld.param.u64 %span, [span];
  cvta.to.global.u64 %out, %out;
  mov.u64 %now, %globaltimer;
first:
  mov.u64 %start, %globaltimer;
  setp.eq.u64 %p, %start, %now;
  @%p bra first;
  mov.u64 %cycles, %clock64;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %end, %now, %start;
  setp.lt.u64 %p, %end, %span;
  @%p bra again;
last:
  mov.u64 %end, %globaltimer;
  setp.eq.u64 %p, %end, %now;
  @%p bra last;
  mov.u64 %now, %clock64;
  sub.u64 %cycles, %now, %cycles;
  sub.u64 %end, %end, %start;
  st.global.u64 [%out], %cycles;
  st.global.u64 [%out+8], %end;
  ret;
}
\x00"""

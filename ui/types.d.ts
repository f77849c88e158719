// SPDX-License-Identifier: BSD-2-Clause
// What browsers have and the compiler of Debian 12 (TypeScript 4.8) doesn't know.
declare class DecompressionStream {
	constructor(format: string);
	readonly readable: ReadableStream<Uint8Array>;
	readonly writable: WritableStream<Uint8Array>;
}

// SPDX-License-Identifier: BSD-2-Clause
// Declares what browsers have but Debian 12's compiler (TypeScript 4.8) doesn't know.
declare class DecompressionStream {
	constructor(format: string);
	readonly readable: ReadableStream<Uint8Array>;
	readonly writable: WritableStream<Uint8Array>;
}

package goruntime

import "slices"

// sizeClasses are the sizes of slots, the same in all runtimes that Layout covers
// (runtime/sizeclasses.go). Larger blocks are multiples of PageSize.
var sizeClasses = [...]uint64{
	8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024,
	1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072, 3200, 3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336,
	16384, 18432, 19072, 20480, 21760, 24576, 27264, 28672, 32768,
}

// SlotSize is the size of the slot that a block of size bytes gets, as far as the size tells:
// blocks of over 512 bytes with pointers may have one of the next size, see Layout.MallocHeader,
// and those of 8 bytes without pointers share one of TinySize.
func SlotSize(size uint64) uint64 {
	switch i, _ := slices.BinarySearch(sizeClasses[:], size); {
	case size < 8:
		return TinySize // there is no room for a pointer
	case i < len(sizeClasses):
		return sizeClasses[i]
	}
	return max(size, (size+PageSize-1)&^(PageSize-1)) // it may wrap
}

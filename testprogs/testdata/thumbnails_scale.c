// The library of thumbnails.c.
#include <stdlib.h>

// scale returns a smaller picture: each pixel is the mean of divisor * divisor pixels.
unsigned char *scale(const unsigned char *picture, int width, int height, int divisor)
{
	int columns = width / divisor, rows = height / divisor;
	unsigned char *out = malloc(columns * rows);
	int *sums = malloc(columns * sizeof *sums);
	if (!out || !sums)
		return NULL;
	for (int y = 0; y < rows; y++) {
		for (int x = 0; x < columns; x++)
			sums[x] = 0;
		for (int v = 0; v < divisor; v++)
			for (int x = 0; x < columns * divisor; x++)
				sums[x / divisor] += picture[(y * divisor + v) * width + x];
		for (int x = 0; x < columns; x++)
			out[y * columns + x] = sums[x] / (divisor * divisor);
	}
#ifdef FIXED
	free(sums);
#endif
	return out;
}

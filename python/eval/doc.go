// Package eval computes expressions and conditions of Python without running code: names, attributes, elements by
// constants, parts of sequences and len(); in conditions comparisons and arithmetic of numbers and texts, too.
//
// Names are found by whoever knows where the expression is to be computed.
package eval

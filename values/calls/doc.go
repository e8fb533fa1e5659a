// Package calls knows how a function is called: which of several overloads C++ takes, and
// in which registers and on which place of the stack the System V ABI for AMD64 has the
// arguments and the result.
//
// It knows neither types nor memory. Overloads are chosen by the [Rank] of each argument's
// conversion, and a type is a [Layout], which tells where its scalars are.
package calls

// Package variables reads the variables and expressions of the frame in view, and those that conditions name.
//
// It does not run the program: who calls functions of it sets Values.World.Call.
package variables

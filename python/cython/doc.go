// Package cython knows what Cython makes of a program: which functions of the generated C
// are those of the source, which only lead there, and which line of the source a line of C
// belongs to.
//
// It reads what Cython leaves behind:
//
//   - the names of C functions, which have the module, class and function in them (Parse);
//   - the generated C, whose comments tell the line of the source before each of its
//     statements (ReadC);
//   - the description that `cython --gdb` writes for cygdb, cython_debug_info_MODULE, an
//     XML file: functions, variables and lines (Read). It mixes the lines of included files
//     and of Cython's own code with those of the module up to Cython 0.29, so the C is
//     asked first where it is at hand.
//
// All of it is foreign: sizes are bounded, and nothing is taken that could not be a name.
// The package knows no process and no ELF file. Cython 0.29's Compiler/Naming.py has the
// prefixes, Debugger/DebugWriter.py and Compiler/ModuleNode.py the XML.
package cython

package main

// enter is in enter_amd64.s.
func enter()

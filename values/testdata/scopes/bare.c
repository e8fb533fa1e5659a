int level = 9; // built without debug information

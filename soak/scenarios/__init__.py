"""What is done to the program, one file for each kind of load or fault."""

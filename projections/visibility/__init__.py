"""What a caller may not see: the paths of fields, and how withheld ones are cut and refused."""

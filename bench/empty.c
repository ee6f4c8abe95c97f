/* empty.c - a program that does nothing: what starting any program costs. */
int main(void)
{
    return 0;
}
